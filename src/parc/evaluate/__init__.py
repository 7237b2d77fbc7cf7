"""The paper's tables and more, on fixed sets of terrain."""

from parc.evaluate.evaluation_job import EvaluationSettings, Evaluator
from parc.evaluate.generator_measurement import GeneratorTest, evaluate_generator
from parc.evaluate.models_under_test import Contender, ModelsUnderTest, find_contenders
from parc.evaluate.terrain_sets import SetChoice, TestCase, set_case, set_cases
from parc.evaluate.tracker_measurement import TrackerTest, evaluate_tracker

__all__ = [
    "Contender", "EvaluationSettings", "Evaluator", "GeneratorTest", "ModelsUnderTest", "SetChoice", "TestCase", "TrackerTest",
    "evaluate_generator", "evaluate_tracker", "find_contenders", "set_case", "set_cases",
]  # fmt: skip
