"""A table written frame by frame is the table of the whole motion, and writing into one strip leaves the others alone."""

from dataclasses import fields, replace

import pytest
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.motion.frame_state import FrameState
from parc.quality.limit_profiles import TrackerInputLimits
from parc.track.env.body_tables import BodyTables
from parc.track.env.reference_library import ReferenceSettings, build_library
from parc.track.follow.reference_table import FrameRows, ReferenceTable, WrittenTable

COLUMNS = [field.name for field in fields(ReferenceTable) if field.name not in ("start", "length", "strip_of_row")]


def rows_of(anatomy: BodyTables, clips: list[Clip], begin: int, stop: int) -> FrameRows:
    """[C, n, ...] frames of clips, as the library reads them."""
    motions = [clip.motion.slice(begin, stop) for clip in clips]
    columns = (torch.stack([getattr(m, name) for m in motions]) for name in ("root_pos", "root_rot", "joint_rot", "contacts"))
    return FrameRows.of(anatomy, *columns)


@pytest.fixture
def clips(squat: Clip) -> list[Clip]:
    """Two, of 40 frames."""
    motion = squat.motion
    turned = replace(squat, name="turned", motion=motion.moved(turn=torch.tensor(0.7)).slice(5, 45))
    return [replace(squat, motion=motion.slice(0, 40)), turned]


@pytest.mark.parametrize("chunks", [(40,), (1, 1, 1, 37), (2, 13, 13, 12), (1,) * 40])
def test_chunk_after_chunk_gives_the_whole_table(character: Character, clips: list[Clip], chunks: tuple[int, ...]) -> None:
    """Oracle: the library of the clips, velocities included."""
    anatomy = BodyTables(character, "cpu")
    library = build_library(character, clips, ReferenceSettings(TrackerInputLimits(enabled=False)))
    table, at = WrittenTable.empty(anatomy, 2, 50, 30.0), 0
    for chunk in chunks:
        table.write(torch.tensor([1, 0]), at, rows_of(anatomy, clips[::-1], at, at + chunk))
        at += chunk
    assert table.length.tolist() == [40, 40] and table.start.tolist() == [0, 50]
    strip, frame = torch.tensor([[0], [1]]), torch.arange(40)
    for name in COLUMNS:
        written = getattr(table, name)[table.row(strip, frame)]
        torch.testing.assert_close(written, getattr(library, name)[library.row(strip, frame)], atol=1e-5, rtol=1e-5, msg=name)
    assert table.row(strip, torch.tensor([39, 40, 99])).tolist() == [[39] * 3, [89] * 3]


def test_frames_are_replaced_from_one_on_and_what_came_later_is_forgotten(character: Character, clips: list[Clip]) -> None:
    """Each strip from another frame on: it then is the table of what was spliced."""
    anatomy = BodyTables(character, "cpu")
    table, spliced = WrittenTable.empty(anatomy, 2, 50, 30.0), WrittenTable.empty(anatomy, 2, 50, 30.0)
    both = torch.arange(2)
    table.write(both, 0, rows_of(anatomy, clips, 0, 40))
    new = rows_of(anatomy, clips, 20, 27)
    table.write(both, torch.tensor([3, 12]), new)
    for k, at in enumerate((3, 12)):
        strip = both[k : k + 1]
        old = rows_of(anatomy, clips[k : k + 1], 0, at)
        joined = FrameRows(*(torch.cat([a, b[k : k + 1]], 1) for a, b in zip(old, new, strict=True)))
        spliced.write(strip, 0, joined)
    assert table.length.tolist() == [10, 19] == spliced.length.tolist()
    for strip, length in ((0, 10), (1, 19)):
        rows = table.row(torch.tensor(strip), torch.arange(length))
        for name in COLUMNS:
            torch.testing.assert_close(getattr(table, name)[rows], getattr(spliced, name)[rows], atol=1e-5, rtol=1e-5, msg=name)


def test_a_mask_leaves_the_others_alone_and_too_much_is_dropped(character: Character, clips: list[Clip]) -> None:
    anatomy = BodyTables(character, "cpu")
    table, whole = WrittenTable.empty(anatomy, 2, 30, 30.0), rows_of(anatomy, clips, 0, 40)
    table.write(torch.arange(2), 0, whole)
    assert table.length.tolist() == [30, 30]
    torch.testing.assert_close(table.qpos[30:60], whole.qpos[1, :30])
    before = [getattr(table, name)[:30].clone() for name in COLUMNS]
    addresses = [getattr(table, name).data_ptr() for name in COLUMNS]
    table.write(torch.tensor([False, True]), torch.tensor([2, 25]), rows_of(anatomy, clips, 10, 20))
    assert all(torch.equal(getattr(table, name)[:30], old) for name, old in zip(COLUMNS, before, strict=True))
    torch.testing.assert_close(table.qpos[55:60], whole.qpos[1, 10:15])
    assert table.length.tolist() == [30, 30]
    assert addresses == [getattr(table, name).data_ptr() for name in COLUMNS], "graphs that read it stay valid"


def test_frames_come_as_a_generator_writes_them(character: Character, clips: list[Clip]) -> None:
    anatomy = BodyTables(character, "cpu")
    frames = FrameState(*(part.unsqueeze(0) for part in FrameState.of_motion(clips[0].motion)))
    table = WrittenTable.empty(anatomy, 1, 40, 30.0, velocities=False)
    table.write(torch.tensor([True]), 0, frames)
    torch.testing.assert_close(table.qpos[:40], rows_of(anatomy, clips[:1], 0, 40).qpos[0], atol=1e-5, rtol=1e-5)
    assert not table.qvel.any() and table.strip_of_row.tolist() == [0] * 41
