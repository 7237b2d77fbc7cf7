"""Clips on disk."""

from parc.dataset.clip import Clip, Provenance
from parc.dataset.clip_entry import ClipEntry
from parc.dataset.convert.clip_files import load_clip, save_clip
from parc.dataset.dataset_card import card_markdown, data_card
from parc.dataset.dataset_store import Dataset, DatasetWriter
from parc.dataset.folder_import import ImportReport, import_folder
from parc.dataset.merge_datasets import merge

__all__ = [
    "Clip", "ClipEntry", "Dataset", "DatasetWriter", "ImportReport", "Provenance",
    "card_markdown", "data_card", "import_folder", "load_clip", "merge", "save_clip",
]  # fmt: skip
