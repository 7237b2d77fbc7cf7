"""Whom a clip shows, as far as the name of its source says."""

import re

from parc.dataset.clip import Clip

NOBODY = ""
"""a clip that shows no person: made by a model, by rule, in simulation"""
_TAKE = re.compile(r"^(?P<folder>(?:.*/)?)(?P<subject>\d+)_\d+(?:\D.*)?$")


def subject_of(clip: Clip) -> str:
    """`cmu/16` of a take `cmu/16_11.bvh`, the folder of a source that numbers no subjects, `NOBODY` without a folder."""
    source = clip.provenance.source
    if match := _TAKE.match(source):
        return f"{match['folder']}{match['subject']}"
    return source.rsplit("/", 1)[0] if "/" in source else NOBODY
