"""Futures of the character that have been simulated, as a tree.

A branch is a stretch of one reference followed by one body, every step kept. Branches grow from one another; the root is what the
character does now:

    now                      the branch in use, `end` steps long, and recorded a little beyond
     |----- in use -----|----- next ------|
                        |----- next ------|----- leaf
                        |                 |----- leaf
                        |----- next ------|----- leaf

What was simulated need not be simulated again: the character plays the record. Physics repeats itself, so this is what it would
do, and what went wrong in simulation is never played as long as there is something better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from parc.live.follower import Reference, Snapshot

Origin = Literal["held", "plan", "body", "pause"]
"""how a motion was written (`parc.live.stage`)"""


@dataclass(eq=False)
class Branch:
    states: Snapshot
    """[S + 1, ...] one after the other; the first is the last of the branch it grew from"""
    error: Tensor
    """[S] m, mean root-relative distance of the bodies from the reference's after each step"""
    reference: Reference
    """one"""
    first: int
    """frame of the reference at which the body should be in the first state"""
    end: int
    """control steps after which the next branch begins, at most S"""
    survived: int
    """control steps before the reference was lost"""
    score: float = 0.0
    origin: Origin | None = None
    """None: out of nothing, or what a body did on its own"""
    parent: "Branch | None" = None

    @property
    def recorded(self) -> int:
        """S"""
        return len(self.error)

    @property
    def is_safe(self) -> bool:
        """The reference was followed to the end of the record."""
        return self.survived >= self.recorded

    @property
    def from_plan(self) -> bool:
        """It went on from the reference before, not from the simulated body."""
        return self.origin in ("held", "plan")

    def at(self, step: int) -> Snapshot:
        return Snapshot(*(part[step] for part in self.states))

    @property
    def last(self) -> Snapshot:
        """Where the next branch begins."""
        return self.at(self.end)

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


class Tree:
    """The branch in use, how far it is played, and the leaves that descend from it, the best first."""

    def __init__(self, root: Branch, taken: int = 0) -> None:
        root.parent = None
        self.branch, self.taken = root, taken
        self.leaves: list[Branch] = [root]

    @property
    def now(self) -> Snapshot:
        return self.branch.at(self.taken)

    @property
    def frame(self) -> int:
        """Of the branch's reference, at which the body should be."""
        return self.branch.first + self.taken

    @property
    def is_bare(self) -> bool:
        """Nothing is known beyond the branch in use."""
        return self.leaves[0] is self.branch

    @property
    def has_ended(self) -> bool:
        """The branch in use is played to its end."""
        return self.taken >= self.branch.end

    @property
    def ahead(self) -> int:
        """Control steps from now to the leaves."""
        return sum(branch.end for branch in self.leaves[0].lineage()) - self.taken

    def grow(self, leaves: Sequence[Branch]) -> None:
        """Other leaves; those that descend from the branch in use are kept."""
        self.leaves = [leaf for leaf in leaves if leaf.lineage()[0] is self.branch]
        assert self.leaves

    def move_on(self, longer: int = 0) -> None:
        """To the branch that leads to the best leaf; all others are forgotten.

        Where nothing is known beyond it, and it is safe, it is played `longer` steps, so that the tree has time to grow.
        """
        branch = self.leaves[0].lineage()[1]
        self.leaves = [leaf for leaf in self.leaves if branch in leaf.lineage()]
        branch.parent = None
        self.branch, self.taken = branch, 0
        if self.is_bare and branch.is_safe:
            branch.end = min(branch.recorded, branch.end + longer)

    def cut(self, steps: int) -> None:
        """Forget what comes later than so many steps from now."""
        left = self.taken + steps
        lineage = self.leaves[0].lineage()
        for branch in lineage[:-1]:
            if left <= branch.end:
                break
            left -= branch.end
        else:
            branch = lineage[-1]
        shorter = branch.cut(left)
        if branch is self.branch:
            self.branch = shorter
        self.leaves = [shorter]
