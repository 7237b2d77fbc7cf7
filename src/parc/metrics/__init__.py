"""Numbers for motions: how they sit on the terrain, how smooth they are, whether they get there."""

from parc.metrics.clip_batch import ClipBatch
from parc.metrics.clip_measures import UNITS, mean_of, measure, measure_clips

__all__ = ["UNITS", "ClipBatch", "mean_of", "measure", "measure_clips"]
