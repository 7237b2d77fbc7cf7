"""Undo is going back to the very same document, redo forward, and a stroke is one step."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from parc.studio.document import Document, History
from parc.terrain import Terrain


def documents(count: int) -> list[Document]:
    first = Document(Terrain.flat((2, 2)))
    return [first, *(replace(first) for _ in range(count))]


@given(st.lists(st.sampled_from(["push", "undo", "redo"]), max_size=40))
@settings(max_examples=80, deadline=None)
def test_a_history_is_a_list_with_a_place(actions: list[str]) -> None:
    fresh = iter(documents(41))
    start = next(fresh)
    history, model, at = History(start), [start], 0
    for action in actions:
        if action == "push":
            document = next(fresh)
            history.push(document, "edit")
            model, at = [*model[: at + 1], document], at + 1
        elif action == "undo":
            assert (history.undo() is None) == (at == 0)
            at = max(at - 1, 0)
        else:
            assert (history.redo() is None) == (at == len(model) - 1)
            at = min(at + 1, len(model) - 1)
        assert history.document is model[at]


def test_a_stroke_is_undone_as_one_and_ends() -> None:
    a, b, c, d = documents(3)
    history = History(a)
    history.push(b, "paint", "stroke 1")
    assert history.before("stroke 1") is a
    history.push(c, "paint", "stroke 1")
    assert history.before("stroke 1") is a and history.before("stroke 2") is c
    history.end_stroke()
    history.push(d, "paint", "stroke 1")
    history.undo()
    assert history.document is c
    history.undo()
    assert history.document is a


def test_the_oldest_is_forgotten() -> None:
    first, *others = documents(5)
    history = History(first, longest=3)
    for document in others:
        history.push(document, "edit")
    while history.undo() is not None:
        pass
    assert history.document is others[2]


def test_clips_follow_the_ground_they_stand_on(walk) -> None:
    other = replace(walk, name="other", terrain=Terrain.flat((3, 3)))
    document = Document(walk.terrain, clips=(walk, other), active=0)
    edited = document.with_ground_edited(Terrain.flat((4, 4)))
    assert edited.clips[0].terrain is edited.terrain
    assert edited.clips[1].terrain is other.terrain
    moved_on = document.with_new_ground(Terrain.flat((5, 5)))
    assert moved_on.active is None and moved_on.clips[0].terrain is walk.terrain
    assert document.free_name("other") == "other_2"
