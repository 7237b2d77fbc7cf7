"""Closed-loop training: a tracker learns to cross terrain by reflex, with the frozen generator inside its environment.

One batch of PPO holds the worlds that cross terrain (`parc.reflex.reflex_env`) and those that follow clips, so that nothing is
forgotten (`parc.track.env.track_env`). Training begins with a trained tracker, the critic first. A milestone measures the
averaged policy on a few terrains of the development set and on the clips, keeps the best, writes a checkpoint, and starts all
episodes anew, so that a resumed run equals one that was never stopped. Files in OUT:

    actor.safetensors, critic.safetensors   the best so far, or an average of it with the tracker that training began with
    last/                                   those of the last milestone
    checkpoint.safetensors                  everything learned, the ground, the hard starts, random numbers, counters
    metrics.jsonl                           one line every few seconds and one for each milestone
    result.json                             what the best reaches, beside the tracker that training began with

The best has most crossings of the development set, less a price for clips that it has lost. Averages are tried at the end.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from parc.dataset.clip import Clip
from parc.dataset.dataset_store import INDEX
from parc.errors import DatasetError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.physics.choose_engine import make_world
from parc.physics.simulated_world import World
from parc.plan.crossing.reflex_crossings import OUTCOMES
from parc.reflex.development_crossings import DevelopmentCrossings
from parc.reflex.reflex_env import COUNTED, KINDS, ReflexEnv
from parc.reflex.reflex_settings import ReflexTrainingSettings
from parc.reflex.terrain_bank import CrossingBank, CrossingSource
from parc.run import distributed
from parc.run.atomic_files import write_bytes_atomically
from parc.run.metrics_log import MetricsLog
from parc.track.env.reference_library import ReferenceLibrary, build_library
from parc.track.follow.evaluate_tracking import Evaluation, evaluate
from parc.track.learn.policy import TrainedActor, load_actor, save_actor
from parc.track.learn.ppo import PPO
from parc.track.learn.tracker_training import ACTOR, CHECKPOINT, METRICS, TrackerTrainer, overflows_of
from parc.track.learn.training_plan import TrainingPlan
from parc.track.learn.weight_average import average_trackers

LAST, RESULT = "last", "result.json"
_IDLE_WORLDS = 256
"""worlds for the clips where none are trained on"""
_FORGET = 0.98
"""share of the counts of episodes that an iteration keeps"""
_PARTS = ("policy", "crossings", "clips", "update")
"""of an iteration, whose s the log tells"""


@dataclass(frozen=True)
class ReflexStanding:
    """What a tracker reaches."""

    crossings: float
    """share of runs on the development terrains that arrive"""
    clips: float
    """share of the clips that are tracked to their end"""

    def score(self, start: float, settings: ReflexTrainingSettings) -> float:
        """By which the best is kept; `start`: share of the clips at the beginning."""
        development = settings.development
        return self.crossings - development.price * max(0.0, start - development.clips_lost - self.clips)


class ReflexTrainer(TrackerTrainer):
    """One closed-loop training."""

    kind = "reflex training"

    def __init__(
        self,
        start: TrainedActor,
        generator: Generator,
        library: ReferenceLibrary,
        world: World,
        source: CrossingSource,
        closed: ReflexTrainingSettings,
        plan: TrainingPlan,
        group: distributed.Group,
        compiled: bool = False,
    ) -> None:
        """`world`: of those that follow the clips of the library."""
        self.start, self.closed, self.source, device = start, closed, source, group.device
        settings = replace(start.settings, ppo=closed.ppo, disturbance=closed.disturbance)
        character, contract = start.character, start.contract
        count, following = closed.worlds(plan.worlds)
        self._mixes, self._crossing_worlds = following > 0, count
        super().__init__(character, library, world, settings, plan, group)

        bank = CrossingBank.of(source.take(closed.bank.terrains), closed.bank, device)
        crossing_world = make_world(character, contract, count, device, plan.threads, bank.terrains.cell)
        self.crossing_env = ReflexEnv(
            crossing_world, generator, bank, settings, closed, self.generator, plan.graphs, compiled, judge=self._judge
        )
        self.development = DevelopmentCrossings(
            generator, start, closed.development, closed.loop, plan.threads, plan.graphs, compiled, self._judge
        )
        self._next_row = 0
        self.best: ReflexStanding | None = None
        self.before: ReflexStanding | None = None
        self._marks: dict[str, Any] = {}

    def _make_ppo(self) -> PPO:
        anchor, worlds = self.start.actor, self._crossing_worlds + (self.env.num_worlds if self._mixes else 0)

        def means(rows: Tensor) -> Tensor:
            return anchor.network(anchor.normalizer(rows))

        settings = self.settings
        return PPO(
            self.policy, worlds, settings.ppo, settings.policy, self.group, self.generator, self.plan.graphs,
            masked=True, anchor=means, pull=self.closed.pull,
        )  # fmt: skip

    @torch.no_grad()
    def _judge(self, observations: Tensor) -> Tensor:
        """[K] what the critic makes of observations [K, size]."""
        policy = self.policy
        rows, _ = policy.view(observations)
        return policy.critic(policy.normalizer(rows).to(self.ppo.rows.dtype)).squeeze(-1)

    def _restart(self) -> None:
        self.crossing_env.restart_all()
        super()._restart()

    def _compile(self) -> None:
        """Graphs of the crossings are recorded in the first iterations; only kernels are met before the clock starts."""
        super()._compile()
        env = self.crossing_env
        if env.world.device.type != "cuda":
            return
        state = self.generator.get_state()
        env.restart_all()
        for _ in range(6):
            env.step(torch.zeros_like(env.action))
        torch.cuda.synchronize(env.world.device)
        self.generator.set_state(state)

    # ---- an iteration --------------------------------------------------------------------------------------------------------

    def _roll_out(self) -> Tensor:
        env, clips, ppo = self.crossing_env, self.env, self.ppo
        terms, many = torch.zeros_like(env.terms), env.num_worlds
        ones, none = torch.ones_like(clips.reward), torch.zeros_like(clips.reward)
        spent = dict.fromkeys(_PARTS, 0.0)
        began = time.monotonic()

        def passed(part: str) -> None:
            nonlocal began
            now = time.monotonic()
            spent[part] += now - began
            began = now

        def joined(of_crossings: Tensor, of_clips: Tensor) -> Tensor:
            return torch.cat([of_crossings, of_clips.to(of_crossings.dtype)]) if self._mixes else of_crossings

        for t in range(self.settings.ppo.steps):
            action = ppo.act(t, joined(env.observation, clips.observation))
            passed("policy")
            env.step(action[:many])
            passed("crossings")
            if self._mixes:
                clips.step(action[many:])
            passed("clips")
            ppo.record(
                t,
                joined(env.reward, clips.reward),
                joined(env.gave_out.float(), clips.failed),
                joined(env.timed_out.float(), clips.timed_out),
                joined(env.error * env.counts, clips.error),
                joined(env.counts, ones),
                joined(env.arrived.float(), none),
            )
            terms += env.terms / self.settings.ppo.steps
        ppo.finish(joined(env.observation, clips.observation))
        passed("policy")
        self._spent = spent
        return terms

    def _refresh(self) -> None:
        super()._refresh()
        self.crossing_env.hard.refresh()

    def _measure(self, losses: Tensor, terms: Tensor) -> dict[str, Tensor]:
        env, ppo = self.crossing_env, self.ppo
        assert ppo.counts is not None
        counted, every_second = ppo.counts[:, : env.num_worlds], env.num_worlds / env.world.contract.control_hz
        unexplained = (ppo.returns - ppo.values[:-1].reshape(-1)).var() / ppo.returns.var().clamp_min(1e-9)
        falls = ppo.failed[:, : env.num_worlds] * counted
        measured = super()._measure(losses, terms) | {
            "crossing_reward": (ppo.rewards[:, : env.num_worlds] * counted).sum() / counted.sum().clamp_min(1.0),
            "crossing_failures_per_second": falls.sum() / counted.sum().clamp_min(1.0) * env.world.contract.control_hz,
            "counted": counted.mean(),
            "value": ppo.values[:-1].mean(),
            "explained": 1.0 - unexplained,
            "largest_advantage": ppo.advantages.abs().max(),
            "hard_kept": env.hard.live.float().sum(),
            "hard_dropped": env.hard.dropped.float(),
            "metres_paid_per_second": env.paid.sum() / every_second,
        }
        # What became of the episodes of late, by where they began.
        of_kind, arrived = env.outcomes[:, : len(OUTCOMES) - 1].sum(1).clamp_min(1e-6), OUTCOMES.index("arrived") - 1
        for k, kind in enumerate(KINDS):
            measured[f"{kind}_episodes"] = of_kind[k]
            measured |= {f"{kind}_{name}": env.outcomes[k, j] / of_kind[k] for j, name in enumerate(COUNTED[:-1])}
            measured[f"{kind}_seconds"] = env.outcomes[k, -1] / env.outcomes[k, arrived].clamp_min(1e-6)
        del measured["failures_per_second"]  # worlds that wait for their turn are among them
        measured["overflows"] = measured["overflows"] + overflows_of(env.world)
        if self._mixes:
            measured["clip_failures_per_second"] = ppo.failed[:, env.num_worlds :].mean() * env.world.contract.control_hz
        env.outcomes.mul_(_FORGET)
        return measured

    def _iteration(self) -> dict[str, float]:
        began = time.monotonic()
        numbers = super()._iteration()
        self._spent["update"] = time.monotonic() - began - sum(self._spent.values())
        numbers.update({f"seconds_{name}": value for name, value in self._spent.items()})
        bank = self.closed.bank
        if bank.fresh and self.clock.iterations % bank.every == 0:
            self._exchange(self.source.take(bank.fresh, wait=bank.drawers == 0))
        numbers["terrains"] = float(self.source.next)
        return numbers

    def _exchange(self, crossings: list) -> None:
        """The oldest terrains of the bank go."""
        if crossings:
            env, rows = self.crossing_env, torch.arange(len(crossings)) + self._next_row
            total = len(env.crossing_bank)
            self._next_row = (self._next_row + len(crossings)) % total
            device = env.world.device
            env.exchange((rows % total).to(device), CrossingBank.of(crossings, self.closed.bank, device))

    # ---- milestones ----------------------------------------------------------------------------------------------------------

    def measure(self, actor: Callable[[Tensor], Tensor]) -> tuple[ReflexStanding, Evaluation, dict[str, Any]]:
        """An actor on the development terrains and on the clips, by its mean action."""
        found = self.development.run(actor)
        evaluation = evaluate(self.env, actor, trials=0)
        return ReflexStanding(found["arrived"], evaluation.success), evaluation, found

    def _milestone(self, out: Path, log: MetricsLog | None) -> Evaluation:
        began = time.monotonic()
        if self.before is None:
            self.before, _, found = self.measure(self.start.actor)
            self._tell(log, "start", self.before, found, began)
            began = time.monotonic()
            if self.group.is_main:  # whatever comes, what is left in OUT is no worse
                self.best = self.before
                self.save_models(out)
                save_actor(out / ACTOR, self.start.actor, self.character, self.env.world.contract, self.settings)
        standing, evaluation, found = self.measure(self.policy.averaged_actor())
        if self.group.is_main:
            if self.best is None or self._score(standing) > self._score(self.best):
                self.best = standing
                self.save_models(out)
            (out / LAST).mkdir(exist_ok=True)
            self.save_models(out / LAST)
            self.save(out)
            self._tell(log, "evaluation", standing, found, began)
            self._write_result(out)
        self._restart()
        return evaluation

    def _score(self, standing: ReflexStanding) -> float:
        assert self.before is not None
        return standing.score(self.before.clips, self.closed)

    def _tell(self, log: MetricsLog | None, event: str, standing: ReflexStanding, found: dict[str, Any], began: float) -> None:
        clock, now = self.clock, time.monotonic()
        facts = {"samples": clock.samples, "seconds": clock.seconds, **asdict(standing), "score": self._score(standing)}
        facts |= {"wall_seconds": now - clock.born, "milestone_seconds": now - began}
        if log is not None:
            log.write(event=event, **facts, development=found)
        if self.group.is_main:
            shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in facts.items()}
            print(json.dumps({"event": event, **shown, "by_family": found["by_family"]}), flush=True)

    def _write_result(self, out: Path, averages: list[dict[str, Any]] | None = None) -> None:
        assert self.before is not None and self.best is not None
        result = {"before": asdict(self.before), "best": asdict(self.best), "score": self._score(self.best)}
        result |= {"samples": self.clock.samples, "seconds": self.clock.seconds, "averages": averages or []}
        write_bytes_atomically(out / RESULT, json.dumps(result, indent=1).encode())

    def average(self, out: Path) -> None:
        """Averages of the best with the tracker that training began with; the best of all stays in OUT."""
        if not self.closed.shares or self.best is None:
            return
        trained, rows = load_actor(out / ACTOR, self.character, self.group.device), []
        for share in self.closed.shares:
            averaged = average_trackers([trained, self.start], [share, 1.0 - share])
            standing, _, _ = self.measure(averaged.actor)
            rows.append({"share": share, **asdict(standing), "score": self._score(standing)})
            if self._score(standing) > self._score(self.best):
                self.best = standing
                save_actor(out / ACTOR, averaged.actor, self.character, self.env.world.contract, self.settings)
        self._write_result(out, rows)

    def _tensors(self) -> dict[str, Tensor]:
        return super()._tensors() | {f"crossing.{name}": value for name, value in self.crossing_env.state().items()}

    def _description(self) -> dict:
        standings = {name: None if s is None else asdict(s) for name, s in (("before", self.before), ("best", self.best))}
        own = {"closed": asdict(self.closed), "next_crossing": self.source.next, "next_row": self._next_row}
        return super()._description() | own | standings

    def resume(self, path: Path) -> dict[str, Tensor]:
        """Everything from a checkpoint of the same clips and settings."""
        tensors, meta = self._open(path)
        told = json.loads(json.dumps(asdict(self.closed)))
        changed = sorted(name for name in told if name != "shares" and told[name] != meta["closed"].get(name))
        if changed:
            raise SettingsError(f"{path} was trained with other settings ({', '.join(changed)}); choose another folder")
        super().resume(path)
        self.crossing_env.load_state(
            {name.removeprefix("crossing."): value for name, value in tensors.items() if name.startswith("crossing.")}
        )
        self.source.next, self._next_row = meta["next_crossing"], meta["next_row"]
        self.before, self.best = (ReflexStanding(**meta[name]) if meta[name] else None for name in ("before", "best"))
        return tensors


def train_reflex(
    tracker: Path,
    generator: Generator,
    clips: list[Clip],
    out: Path,
    settings: ReflexTrainingSettings | None = None,
    plan: TrainingPlan | None = None,
    resume: bool = True,
    compiled: bool = False,
) -> dict[str, Any]:
    """Train on the generator's device and leave the files named above in `out`; returns what is in result.json."""
    settings, plan = settings or ReflexTrainingSettings(), plan or TrainingPlan()
    if (out / INDEX).is_file():
        raise DatasetError(f"{out} is a data set; choose another folder for the training")
    out.mkdir(parents=True, exist_ok=True)
    device = generator.device
    group = distributed.setup(device)
    if group.world_size > 1:
        raise SettingsError("closed-loop training runs on one device; start it without torchrun")
    start = load_actor(tracker, generator.character, device)
    character, contract = start.character, start.contract
    library = build_library(character, clips, start.settings.reference, device, float(contract.control_hz))
    _, following = settings.worlds(plan.worlds)
    world = make_world(character, contract, following or _IDLE_WORLDS, device, plan.threads, library.bank.cell)
    world.contract.check_matches(contract)
    with CrossingSource.opened(settings.bank, settings.starts.each, plan.seed) as source, world.on_stream():
        trainer = ReflexTrainer(start, generator, library, world, source, settings, plan, group, compiled)
        if resume and (out / CHECKPOINT).is_file():
            trainer.resume(out / CHECKPOINT)
        else:
            (out / METRICS).unlink(missing_ok=True)
            trainer.warm_start(tracker)
        trainer.run(out, MetricsLog(out / METRICS))
        trainer.average(out)
    return json.loads((out / RESULT).read_text())
