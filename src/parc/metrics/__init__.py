"""Numbers for motions: how they sit on the terrain, how smooth they are, whether they get there."""

from parc.metrics.batch import ClipBatch
from parc.metrics.measure import UNITS, mean_of, measure, measure_clips

__all__ = ["UNITS", "ClipBatch", "mean_of", "measure", "measure_clips"]
