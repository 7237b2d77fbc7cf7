"""Clips on disk."""

from parc.dataset.clip import Clip, Provenance

__all__ = ["Clip", "Provenance"]
