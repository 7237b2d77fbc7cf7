"""Clips on disk."""

from parc.dataset.card import card_markdown, data_card
from parc.dataset.clip import Clip, Provenance
from parc.dataset.convert.load import load_clip, save_clip
from parc.dataset.entry import ClipEntry
from parc.dataset.folder import ImportReport, import_folder
from parc.dataset.merge import merge
from parc.dataset.store import Dataset, DatasetWriter

__all__ = [
    "Clip", "ClipEntry", "Dataset", "DatasetWriter", "ImportReport", "Provenance",
    "card_markdown", "data_card", "import_folder", "load_clip", "merge", "save_clip",
]  # fmt: skip
