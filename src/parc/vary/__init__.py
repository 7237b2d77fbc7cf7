"""Spatial variations of clips: the same motion over higher boxes, wider gaps, other headings."""

from parc.vary.dataset_variations import VarySetSettings, vary_dataset
from parc.vary.variation_ranges import Variation, VariationRanges, random_variation
from parc.vary.vary_clips import VarySettings, vary, vary_many

__all__ = [
    "Variation", "VariationRanges", "VarySetSettings", "VarySettings", "random_variation", "vary", "vary_dataset", "vary_many",
]  # fmt: skip
