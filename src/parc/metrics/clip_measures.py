"""All metrics of a batch of clips at once: the paper's four, those that do not grow with length, gait and how human it looks."""

from collections.abc import Iterable

import torch
from torch import Tensor

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.metrics import gait_measures, naturalness
from parc.metrics.body_fit import joint_limit_frames, self_penetration_frames, self_penetration_mm
from parc.metrics.body_signals import signals_of
from parc.metrics.clip_batch import ClipBatch, groups
from parc.metrics.foot_skate import skate
from parc.metrics.free_flight import flight, veer
from parc.metrics.goal_distance import final_waypoint_distance
from parc.metrics.jerk import high_jerk_frames, max_jerk
from parc.metrics.terrain_fit import contact_f1, contact_loss, deep_frames, penetration_loss, penetration_mm

UNITS = {
    "frames": "",
    "seconds": "s",
    "fwd": "m, end of motion to end of path",
    "tpl": "m summed, depth in the terrain over all surface points and frames: terrain penetration loss",
    "tcl": "m summed, distance to the terrain over all labelled bodies and frames: terrain contact loss",
    "hjf_code": "%, (frame, body) pairs over the jerk limit per frame",
    "hjf_paper": "%, frames with a body over the jerk limit",
    "max_jerk": "m/s3",
    "pen_mm": "mm, deepest point, mean over frames",
    "pen_frames": "%, frames deeper than 2 cm",
    "self_pen_mm": "mm, deepest pair of bodies in each other, mean over frames",
    "self_pen_frames": "%, frames with bodies deeper than 1 cm in each other",
    "joint_limit_frames": "%, frames with a joint coordinate over 5 degrees outside of its range",
    "foot_skate": "%, contact frames sliding over 0.2 m/s",
    "hand_skate": "%, contact frames sliding over 0.2 m/s",
    "foot_slide": "m/s, mean speed of feet in contact",
    "foot_f1": "contact labels against geometry at 2 cm",
    "hand_f1": "contact labels against geometry at 2 cm",
    "ballistic": "m/s2, |a_z + 9.81| of the centre of mass in flight",
    "veer": "m/s2, horizontal acceleration of the centre of mass in the air",
    "floating": "%, frames in which nothing carries the body and it does not fall",
    **gait_measures.UNITS,
    **naturalness.UNITS,
}
"""What `measure` returns, in this order."""


def measure(batch: ClipBatch) -> dict[str, Tensor]:
    """Every metric of every clip, [N] each; NaN where a metric has no meaning for a clip."""
    feet = batch.character.feet
    hands = tuple(b for b in batch.character.key_bodies if b not in feet)
    nothing = torch.full((len(batch),), float("nan"), device=batch.frames.device)
    hjf_code, hjf_paper = high_jerk_frames(batch)
    foot_skate, foot_slide = skate(batch, feet) if feet else (nothing, nothing)
    hand_skate = skate(batch, hands)[0] if hands else nothing
    ballistic, floating = flight(batch)
    signals = signals_of(batch)
    return {
        "frames": batch.frames,
        "seconds": batch.frames / batch.fps,
        "fwd": final_waypoint_distance(batch),
        "tpl": penetration_loss(batch),
        "tcl": contact_loss(batch),
        "hjf_code": hjf_code,
        "hjf_paper": hjf_paper,
        "max_jerk": max_jerk(batch),
        "pen_mm": penetration_mm(batch),
        "pen_frames": deep_frames(batch),
        "self_pen_mm": self_penetration_mm(batch),
        "self_pen_frames": self_penetration_frames(batch),
        "joint_limit_frames": joint_limit_frames(batch),
        "foot_skate": foot_skate,
        "hand_skate": hand_skate,
        "foot_slide": foot_slide,
        "foot_f1": contact_f1(batch, feet) if feet else nothing,
        "hand_f1": contact_f1(batch, hands) if hands else nothing,
        "ballistic": ballistic,
        "veer": veer(batch),
        "floating": floating,
        **gait_measures.measure_gait(batch, signals),
        **naturalness.measure_naturalness(batch, signals),
    }


def measure_clips(
    clips: Iterable[Clip], character: Character, device: torch.device | str = "cpu", frames_at_once: int = 4096
) -> list[dict[str, float]]:
    """Metrics of each clip, in order; batches of about `frames_at_once` padded frames bound the memory."""
    results: list[dict[str, float]] = []
    for group in groups(clips, frames_at_once):
        values = {k: v.tolist() for k, v in measure(ClipBatch.stack(group, character, device)).items()}
        results.extend({k: values[k][i] for k in values} for i in range(len(group)))
    return results


def mean_of(results: list[dict[str, float]]) -> dict[str, float]:
    """Mean of each metric over the clips for which it has a value; NaN if none has."""
    means = {}
    for key in results[0] if results else ():
        values = torch.tensor([r[key] for r in results], dtype=torch.float64)
        means[key] = float(values[~values.isnan()].mean())
    return means
