"""The tree of simulated futures, on made-up branches: a state is told by its number."""

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st

from parc.character import humanoid
from parc.motion.frame_state import FrameState
from parc.plan.future_tree import Branch, PlayedTree
from parc.track.env.body_tables import BodyTables
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.trace import Snapshot

BODY = humanoid()
FRAMES = FrameState(
    torch.zeros(1, 2, 3),
    torch.eye(3).expand(1, 2, 3, 3),
    torch.eye(3).expand(1, 2, BODY.num_bodies - 1, 3, 3),
    torch.zeros(1, 2, BODY.num_bodies),
)
REFERENCE = PlanReference.of(BodyTables(BODY, "cpu"), FRAMES)


def branch(parent: Branch | None = None, name: float = 0.0, end: int = 4, recorded: int = 8, safe: bool = True) -> Branch:
    """States are `name`, `name` + 1, ... from the parent's last on."""
    numbers = name + torch.arange(recorded + 1.0)
    if parent is not None:
        numbers[0] = parent.last.qpos
    survived = recorded if safe else end
    zeros = torch.zeros(recorded)
    return Branch(Snapshot(*[numbers] * 6), zeros, zeros, zeros, REFERENCE, 0, end, survived, score=-name, parent=parent)


def played(tree: PlayedTree, steps: int) -> list[float]:
    """The states of the next steps."""
    found = []
    for _ in range(steps):
        if tree.has_ended:
            tree.move_on()
        tree.taken += 1
        found.append(float(tree.now.qpos))
    return found


def test_what_is_played_leads_to_the_best_leaf() -> None:
    root = branch()
    left, right = branch(root, 100), branch(root, 200)
    best, other, worse = branch(right, 300), branch(right, 400), branch(left, 500)
    tree = PlayedTree(root)
    assert tree.is_bare and tree.ahead == 4
    tree.grow([best, other, worse])
    assert not tree.is_bare and tree.ahead == 12
    assert played(tree, 4) == [1, 2, 3, 4] and tree.has_ended
    assert played(tree, 1) == [201]
    assert tree.leaves == [best, other], "what grew from elsewhere is forgotten"
    assert tree.branch is right and right.parent is None and tree.ahead == 7
    assert played(tree, 7) == [202, 203, 204, 301, 302, 303, 304]
    assert tree.is_bare


def test_leaves_that_do_not_descend_from_the_branch_in_use_are_left_out() -> None:
    root, stranger = branch(), branch(name=700)
    child = branch(root, 100)
    tree = PlayedTree(root)
    tree.grow([branch(stranger, 800), child])
    assert tree.leaves == [child]
    tree.grow([branch(stranger, 900)])
    assert tree.leaves == [child], "nothing new is no reason to forget what is known"


def test_a_branch_that_may_grow_again_is_not_where_it_leads() -> None:
    root = branch()
    child = branch(root, 100)
    tree = PlayedTree(root)
    tree.grow([root, child])
    assert tree.best is child and not tree.is_bare and tree.until(root) == 4 and tree.ahead == 8
    tree.taken = 4
    tree.move_on()
    assert tree.branch is child and tree.leaves == [child]


def test_a_dead_end_gives_way_to_a_pause() -> None:
    """Of the best leaf it must be known that it goes on, or that the tracker is content."""
    for deep, content, safe, waits in ((1, 0, True, True), (2, 0, True, False), (2, 0, False, True), (1, 9, True, False)):
        for can_pause in (True, False):
            root = branch()
            leaf = first = branch(root, 100, safe=safe)
            first.value = content
            for level in range(1, deep):
                leaf = branch(leaf, 100 + level, safe=safe)
            pause = replace(branch(root, 500), origin="pause")
            tree = PlayedTree(root, 4)
            tree.grow([leaf, pause] if can_pause else [leaf])
            tree.move_on(lead=8, content=6.0)
            assert tree.branch is (pause if waits and can_pause else first)


def test_a_pause_is_tried_after_the_first_branch_that_has_none() -> None:
    root = branch()
    child = branch(root, 100)
    leaf = branch(child, 200)
    tree = PlayedTree(root)
    tree.grow([leaf])
    assert tree.unpaused(0) is root and tree.unpaused(5) is child, "the character is past what ends sooner"
    root.has_pause = True
    assert tree.unpaused(0) is child
    child.has_pause = leaf.has_pause = True
    assert tree.unpaused(0) is None


@given(taken=st.integers(0, 4), steps=st.integers(0, 10), deep=st.integers(0, 2))
def test_a_cut_changes_nothing_before_it(taken: int, steps: int, deep: int) -> None:
    def grown() -> PlayedTree:
        tree = PlayedTree(branch())
        leaf = tree.branch
        for level in range(deep):
            leaf = branch(leaf, 100.0 * (level + 1))
            tree.grow([leaf])
        tree.taken = taken
        return tree

    whole, cut = grown(), grown()
    cut.cut(steps)
    recorded = 4 * deep + 8 - taken
    left = min(steps, recorded)
    assert cut.ahead == left
    assert len(cut.leaves) == 1 and cut.leaves[0].lineage()[0] is cut.branch
    same = min(left, whole.ahead)
    assert played(cut, same) == played(whole, same)


def test_who_knows_nothing_beyond_plays_a_safe_branch_longer() -> None:
    for safe, longer, expected in ((True, 3, 7), (True, 30, 8), (True, 0, 4), (False, 3, 4)):
        root = branch()
        tree = PlayedTree(root)
        tree.grow([branch(root, 100, safe=safe)])
        tree.taken = 4
        tree.move_on(longer)
        assert tree.branch.end == expected
    root = branch()
    child = branch(root, 100)
    tree = PlayedTree(root, 4)
    tree.grow([branch(child, 200)])
    tree.move_on(3)
    assert tree.branch is child and child.end == 4, "there is a leaf beyond it"
