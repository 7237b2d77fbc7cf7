"""What moves a live character: a state machine of four states.

    state        what moves the body              a plan comes                      a push, an edit nearby    a fall, `stand`
    Standing     nothing; it waits for its        Following, or ByReflex without    Standing                  Standing
                 first plan, out of nothing       rehearsal
    Following    the record of a tree of          Following, the tree has grown     OnItsOwn                  Standing
                 simulated futures is played
    OnItsOwn     physics step by step, with       Following, if the body is where   OnItsOwn                  Standing
                 the reference it had             the plan expected it;
                                                  OnItsOwn, if it was pushed again
    ByReflex     physics step by step, with a     ByReflex, with the new plan       ByReflex                  Standing
                 plan that nobody tried out

`on_plan` and `on_break` are the transitions; the last column is `Pilot._stand_up`, the same for all.
"""

from parc.plan.future_tree import PlayedTree
from parc.plan.online_planner import AnyPlan, Plan, WrittenPlan
from parc.track.follow.follower import Follower

SAME_PLACE = 1e-3
"""m and rad by which a body may differ from what was simulated and still count as being there"""


class Standing:
    """It is about to stand at a place; its first plan is being made."""

    def __init__(self, rehearses: bool = True) -> None:
        """`rehearses`: what follows is tried out too, not only how it stands."""
        self._rehearses = rehearses

    def on_plan(self, plan: AnyPlan, body: Follower) -> "PilotState":
        """The best motion begins: the body is put on it."""
        assert isinstance(plan, Plan)
        state = Following(PlayedTree(plan.best))
        state.show(body)
        return state if self._rehearses else ByReflex()

    def on_break(self) -> "PilotState":
        """It is nowhere yet, so there is nothing to lose."""
        return self

    def move(self, body: Follower) -> None:
        """A step of physics, from where it was."""
        body.step()


class Following:
    """Futures that were simulated before they happen are played."""

    def __init__(self, tree: PlayedTree) -> None:
        self.tree = tree

    def on_plan(self, plan: AnyPlan, body: Follower) -> "PilotState":
        """The tree grows."""
        assert isinstance(plan, Plan)
        self.tree.grow(plan.leaves)
        return self

    def on_break(self) -> "PilotState":
        """What was simulated no longer holds."""
        return OnItsOwn()

    def move(self, body: Follower) -> None:
        """The next step of the record."""
        self.tree.taken += 1
        self.show(body)

    def show(self, body: Follower) -> None:
        """The body as it was recorded."""
        body.put(self.tree.now)
        body.follow(self.tree.branch.reference, self.tree.frame)


class OnItsOwn:
    """It was pushed, or the ground changed under it, and no plan is there yet that knows."""

    def on_plan(self, plan: AnyPlan, body: Follower) -> "PilotState":
        """Back into a tree, whose root is what the body did meanwhile."""
        assert isinstance(plan, Plan)
        alone = plan.best.lineage()[0]
        if float((alone.last.qpos - body.snapshot().qpos).abs().max()) > SAME_PLACE:  # pushed again meanwhile
            body.follow(plan.best.reference)
            return self
        tree = PlayedTree(alone, alone.end)
        tree.grow(plan.leaves)
        return Following(tree)

    def on_break(self) -> "PilotState":
        """The plan that is being made may still be near enough."""
        return self

    def move(self, body: Follower) -> None:
        """A step of physics, with the reference it had."""
        body.step()


class ByReflex:
    """Plan, follow, look, plan again: each plan goes on from the body's own last two frames, and none is tried out."""

    def on_plan(self, plan: AnyPlan, body: Follower) -> "PilotState":
        """From now on after the new plan, where the body should be in it."""
        assert isinstance(plan, WrittenPlan)
        body.follow(plan.reference, plan.frame)
        return self

    def on_break(self) -> "PilotState":
        """The next plan looks at the body anyway."""
        return self

    def move(self, body: Follower) -> None:
        """A step of physics."""
        body.step()


PilotState = Standing | Following | OnItsOwn | ByReflex
