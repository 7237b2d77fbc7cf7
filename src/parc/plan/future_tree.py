"""Futures that have been simulated, as a tree: what the search grows towards a goal, and what a live character plays.

A branch is a stretch of one reference followed by one body, every step kept. Branches grow from one another, each in exactly the
state in which the one before ends, so that from the root to any leaf it is one unbroken simulation:

    root |----- end ------|----- next ------|----- leaf
                          |                 |----- leaf
                          |----- next ------|----- leaf

What was simulated need not be simulated again: physics repeats itself, so a record is what the body would do, and what went
wrong in simulation is never played as long as there is something better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from parc.motion.frame_state import FrameState
from parc.track.follow.plan_reference import PlanReference
from parc.track.follow.reference_table import FrameRows
from parc.track.follow.trace import Snapshot, Trace

Origin = Literal["held", "plan", "body", "pause"]
"""how a motion was written (`parc.plan.plan_writing`)"""
STEADY = 0.12
"""m between root and reference at the end of a record, beyond which the next steps may go wrong"""


@dataclass(eq=False)
class Branch:
    """A body that followed one reference for some steps."""

    states: Snapshot
    """[S + 1, ...] one after the other; the first is the last of the branch it grew from"""
    targets: Tensor
    """[S, D] motor targets between them"""
    error: Tensor
    """[S] m, mean root-relative distance of the bodies from the reference's after each step"""
    drift: Tensor
    """[S] m, distance of the root from the reference's after each step"""
    reference: PlanReference
    """one"""
    first: int
    """frame of the reference at which the body should be in the first state"""
    end: int
    """control steps after which the next branch begins, at most S"""
    survived: int
    """control steps before the reference was lost or the body lay"""
    value: float = 0.0
    """of the tracker's value function at the end; 0 without a critic"""
    crouch: float = 0.0
    """rad that the straighter knee is bent beyond what is allowed, mean over the record"""
    score: float = 0.0
    """m of progress that it is worth (`parc.plan.future_score`)"""
    progress: float = 0.0
    """m along the path at its end, where a search keeps to one path"""
    origin: Origin | None = None
    """None: out of nothing, or what a body did on its own"""
    parent: "Branch | None" = None
    tries: int = 0
    """motions that were written after it"""
    has_pause: bool = False
    """one of them stands still"""

    @classmethod
    def of(
        cls,
        trace: Trace,
        reference: PlanReference,
        row: int,
        end: int,
        origin: Origin | None = None,
        parent: "Branch | None" = None,
        first: int = 0,
        value: float = 0.0,
        progress: float = 0.0,
        crouch: float = 0.0,
    ) -> "Branch":
        """What one body of a rehearsal did, in tensors of its own: the others are forgotten."""
        states = Snapshot(*(part[row].clone() for part in trace.states))
        targets, error, drift = (column[row].clone() for column in (trace.targets, trace.error, trace.drift))
        own = reference.row(row)
        own = PlanReference(own.frames.clone(), FrameRows(*(part.clone() for part in own.rows)))
        survived = int(trace.survived[row])
        branch = cls(states, targets, error, drift, own, first, end, survived, value, origin=origin, parent=parent)
        branch.progress, branch.crouch = progress, crouch
        return branch

    @property
    def recorded(self) -> int:
        """S"""
        return len(self.error)

    @property
    def is_safe(self) -> bool:
        """The reference was followed to the end of the record."""
        return self.survived >= self.recorded

    @property
    def is_steady(self) -> bool:
        """It is safe and near its reference at the end of the record, so that all of it may be played."""
        return self.is_safe and float(self.drift[-1]) < STEADY

    @property
    def is_rest(self) -> bool:
        """It stands, safely."""
        return self.origin == "pause" and self.is_safe

    @property
    def may_last(self) -> bool:
        """It stands, and all of it is played."""
        return self.is_rest and self.first == 0 and self.end == self.recorded

    @property
    def from_plan(self) -> bool:
        """It went on from the reference before, not from the simulated body."""
        return self.origin in ("held", "plan")

    def at(self, step: int) -> Snapshot:
        """The body after so many steps."""
        return self.states.row(step)

    @property
    def last(self) -> Snapshot:
        """Where the next branch begins."""
        return self.at(self.end)

    @property
    def plan(self) -> FrameState:
        """[end + 1, ...] the frames of the reference that the body should have been in."""
        return self.reference.frames.row(0).row(slice(self.first, self.first + self.end + 1))

    @property
    def ahead(self) -> FrameState:
        """[n, ...] what is left of the reference from the last state on; at least its last frame."""
        at = min(self.first + self.end, self.reference.length - 1)
        return self.reference.frames.row(0).row(slice(at, None))

    def cut(self, end: int) -> "Branch":
        """The same, of another length."""
        return replace(self, end=min(max(end, 0), self.recorded))

    def lineage(self) -> "list[Branch]":
        """From the root of the tree to this one."""
        branch: Branch | None = self
        found = []
        while branch is not None:
            found.append(branch)
            branch = branch.parent
        return found[::-1]

    @property
    def steps(self) -> int:
        """Control steps from the root of the tree to its end."""
        return sum(branch.end for branch in self.lineage())


def spread_out(branches: Sequence[Branch], scores: Sequence[float], count: int) -> list[int]:
    """Rows of the `count` best, but no more than half of them of one parent while others have any; safe pauses besides.

    The best of each parent come first, then those that fill up, then the pauses.
    """
    order = sorted(range(len(branches)), key=lambda k: -scores[k])
    most = -(-count // 2)
    taken: list[int] = []
    for k in order:
        if sum(branches[other].parent is branches[k].parent for other in taken) < most:
            taken.append(k)
    rest = [k for k in order if k not in taken]
    chosen = [*taken, *rest][:count]
    pauses = [k for k in order if k not in chosen and branches[k].is_rest]
    return [*chosen, *pauses]


class Tree:
    """Leaves after each round of growth; the last are those to grow from, the best first."""

    def __init__(self, rounds: Sequence[Sequence[Branch]] = ()) -> None:
        self.rounds = [list(leaves) for leaves in rounds]

    @property
    def leaves(self) -> list[Branch]:
        """Where it may grow; none before the first round."""
        return self.rounds[-1] if self.rounds else []

    @property
    def farthest(self) -> Branch | None:
        """The leaf that has come farthest along its path."""
        return max(self.leaves, key=lambda leaf: leaf.progress, default=None)

    def grow(self, leaves: Sequence[Branch]) -> None:
        """The leaves after another round."""
        self.rounds.append(list(leaves))

    def before(self, place: Tensor, away: float) -> "Tree":
        """As it was before any leaf came within `away` m of a place [2]."""

        def is_near(leaves: list[Branch]) -> bool:
            return any(float((leaf.last.qpos[:2] - place).norm()) < away for leaf in leaves)

        return Tree(self.rounds[: next((k for k, leaves in enumerate(self.rounds) if is_near(leaves)), 0)])

    def on_new_path(self, together: float) -> "Tree":
        """With its leaves at the beginning of another path, without those more than `together` m from the farthest."""
        farthest = self.farthest
        if farthest is None:
            return self
        place = farthest.last.qpos[:2]
        near = [leaf for leaf in self.leaves if float((leaf.last.qpos[:2] - place).norm()) <= together]
        return Tree([*self.rounds[:-1], [replace(leaf, progress=0.0) for leaf in near]])


class PlayedTree(Tree):
    """The branch in use, how far it is played, and the leaves that descend from it, the best first.

    A branch from which others have grown may grow more: where nothing good came of it at first, at the foot of a wall, another
    try may. So it stays among the leaves, a little less worth after each try.
    """

    def __init__(self, root: Branch, taken: int = 0) -> None:
        super().__init__([[root]])
        root.parent = None
        self.branch, self.taken = root, taken

    @property
    def now(self) -> Snapshot:
        """The body as it is."""
        return self.branch.at(self.taken)

    @property
    def frame(self) -> int:
        """Of the branch's reference, at which the body should be."""
        return self.branch.first + self.taken

    @property
    def best(self) -> Branch:
        """Where to; the branch in use where nothing is known beyond it."""
        return next((leaf for leaf in self.leaves if leaf is not self.branch), self.branch)

    @property
    def is_bare(self) -> bool:
        """Nothing is known beyond the branch in use."""
        return self.best is self.branch

    @property
    def has_ended(self) -> bool:
        """The branch in use is played to its end."""
        return self.taken >= self.branch.end

    @property
    def ahead(self) -> int:
        """Control steps from now to the end of the best leaf."""
        return self.until(self.best)

    def until(self, leaf: Branch) -> int:
        """Control steps from now to the end of a leaf."""
        return leaf.steps - self.taken

    def open(self, soonest: int, latest: int) -> tuple[Branch, ...]:
        """Leaves that may grow, the best first: not so near that the character is past them by then, nor too far ahead."""
        return tuple(leaf for leaf in self.leaves if soonest <= self.until(leaf) <= latest)

    def grow(self, leaves: Sequence[Branch]) -> None:
        """Other leaves; those that descend from the branch in use are kept."""
        self.rounds = [[leaf for leaf in leaves if leaf.lineage()[0] is self.branch] or self.leaves]

    def is_secure(self, leaf: Branch, lead: int, content: float) -> bool:
        """What leads there is no dead end: it is known for `lead` steps beyond the branch in use, or the tracker is content."""
        known = self.until(leaf) - self.branch.end + self.taken
        return leaf.is_safe and (known >= lead or leaf.lineage()[1].value >= content)

    def move_on(self, longer: int = 0, lead: int = 0, content: float = 0.0) -> None:
        """To the branch that leads to the best leaf; all others are forgotten.

        What is not secure gives way to a pause, where there is one. Where nothing is known beyond the branch, and it is steady,
        it is played `longer` steps, so that the tree has time to grow.
        """
        beyond = [leaf for leaf in self.leaves if leaf is not self.branch]
        good = [leaf for leaf in beyond if leaf.lineage()[1].is_rest or self.is_secure(leaf, lead, content)]
        branch = (good or beyond)[0].lineage()[1]
        self.rounds = [[leaf for leaf in self.leaves if branch in leaf.lineage()]]
        branch.parent = None
        self.branch, self.taken = branch, 0
        if self.is_bare and branch.is_steady:
            branch.end = min(branch.recorded, branch.end + longer)

    def unpaused(self, soonest: int) -> Branch | None:
        """The first branch on the way to the best leaf after which no pause was tried, and that ends `soonest` steps from now.

        Not one that stands itself: it can be prolonged.
        """
        way = (branch for branch in self.best.lineage() if self.until(branch) >= soonest)
        return next((branch for branch in way if not (branch.has_pause or branch.may_last)), None)

    def cut(self, steps: int) -> None:
        """Forget what comes later than so many steps from now."""
        left = self.taken + steps
        lineage = self.best.lineage()
        for branch in lineage[:-1]:
            if left <= branch.end:
                break
            left -= branch.end
        else:
            branch = lineage[-1]
        shorter = branch.cut(left)
        if branch is self.branch:
            self.branch = shorter
        self.rounds = [[shorter]]
