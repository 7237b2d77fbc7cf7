"""The whole of PARC as one resumable job."""

from parc.loop.admission_rules import GuardSettings, judge_clips, refuse_surplus
from parc.loop.initial_models import RunSources
from parc.loop.ledger import Ledger, LoopError
from parc.loop.loop_plan import PRESETS, IterationPlan, LoopSettings, preset
from parc.loop.machines import Machines
from parc.loop.run_iterations import LoopResult, run_loop
from parc.quality.limit_profiles import AdmissionLimits

__all__ = [
    "PRESETS",
    "AdmissionLimits",
    "GuardSettings",
    "IterationPlan",
    "Ledger",
    "LoopError",
    "LoopResult",
    "LoopSettings",
    "Machines",
    "RunSources",
    "judge_clips",
    "preset",
    "refuse_surplus",
    "run_loop",
]  # fmt: skip
