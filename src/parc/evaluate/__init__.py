"""The paper's tables and more, on a fixed test set."""

from parc.evaluate.contender import Contender, Field, find_contenders
from parc.evaluate.evaluation import EvaluationSettings, Evaluator
from parc.evaluate.generator import GeneratorTest, blending_sweep, evaluate_generator
from parc.evaluate.terrains import TestCase, box_cases, walk_cases
from parc.evaluate.tracker import TrackerTest, evaluate_tracker

__all__ = [
    "Contender", "EvaluationSettings", "Evaluator", "Field", "GeneratorTest", "TestCase", "TrackerTest", "blending_sweep",
    "box_cases", "evaluate_generator", "evaluate_tracker", "find_contenders", "walk_cases",
]  # fmt: skip
