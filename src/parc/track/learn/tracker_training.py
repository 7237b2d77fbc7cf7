"""Training a tracker: rollout, update, and now and then a milestone.

A milestone evaluates the averaged policy, writes a checkpoint and starts all episodes anew. Starting anew is what makes a
resumed run equal to one that was never stopped: the state inside the physics engine (contacts, warm starts) need not be saved.
Files in OUT:

    checkpoint.safetensors   everything learned, random numbers, counters; replaced whole at each milestone
    actor.safetensors        the averaged policy in float16, to be loaded by `parc.track.learn.policy.load_actor`
    critic.safetensors       the value network in float16: with the actor enough for a warm start, a tenth of a checkpoint
    metrics.jsonl            one line every few seconds and one for each evaluation
    clips.json               per-clip results of the last evaluation, and the clips refused with the reasons

With torchrun every rank simulates its own worlds; gradients, statistics and failure counts are shared.
"""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from parc.character.character import Character
from parc.dataset.clip import Clip
from parc.dataset.dataset_store import INDEX
from parc.errors import DatasetError, SettingsError
from parc.physics.choose_engine import make_world
from parc.physics.physical_contract import Contract
from parc.physics.simulated_world import World
from parc.run import distributed
from parc.run.atomic_files import write_bytes_atomically
from parc.run.checkpoint import load_checkpoint, load_to_resume, read_description, save_checkpoint
from parc.run.dataclass_json import from_json
from parc.run.metrics_log import MetricsLog
from parc.track.env.reference_library import ReferenceLibrary, build_library
from parc.track.env.track_env import TrackEnv
from parc.track.follow.evaluate_tracking import Evaluation, evaluate
from parc.track.learn.mlp_network import initialise
from parc.track.learn.policy import TrackerPolicy, load_actor, save_actor
from parc.track.learn.ppo import METRICS_OF_UPDATE, PPO
from parc.track.learn.training_plan import TrainingClock, TrainingPlan
from parc.track.tracker_settings import TrackerSettings

CHECKPOINT, ACTOR, CRITIC = "checkpoint.safetensors", "actor.safetensors", "critic.safetensors"
METRICS, CLIPS = "metrics.jsonl", "clips.json"
_UNSEEN_VARIANCE = 0.01
"""first guess for numbers that were padding before"""
_CRITIC_KIND = "tracker critic"


class TrackerTrainer:
    """One training: environment, policy, optimiser and clock."""

    kind = "tracker training"
    """of its checkpoints"""

    def __init__(
        self,
        character: Character,
        library: ReferenceLibrary,
        world: World,
        settings: TrackerSettings,
        plan: TrainingPlan,
        group: distributed.Group,
    ) -> None:
        self.character, self.settings, self.plan, self.group = character, settings, plan, group
        self.generator = torch.Generator(device=world.device)
        self._seed_generator(0)
        self.env = TrackEnv(world, library, settings, self.generator, plan.graphs)
        # First weights are drawn on the CPU, so that a seed means the same on every device.
        self.policy = TrackerPolicy(character, settings, "cpu")
        start = torch.Generator().manual_seed(plan.seed)
        initialise(self.policy, start)
        weights = self.policy.state_dict()
        self.policy = TrackerPolicy(character, settings, world.device)
        self.policy.load_state_dict(weights)
        self.ppo = self._make_ppo()
        group.broadcast_([self.ppo.actor_flat.data, self.ppo.critic_flat.data, self.ppo.averaged_flat.data])
        self.clock = TrainingClock()
        self._last: dict[str, float] = {}

    def _make_ppo(self) -> PPO:
        settings, worlds = self.settings, self.env.num_worlds
        return PPO(self.policy, worlds, settings.ppo, settings.policy, self.group, self.generator, self.plan.graphs)

    def run(self, out: Path, log: MetricsLog | None) -> Evaluation:
        """Until the budget is spent; ends with a milestone."""
        self._compile()
        self._restart()
        milestone_at, logged_at, logged_samples = self.clock.seconds, self.clock.seconds, self.clock.samples
        milestone_iteration = self.clock.iterations
        evaluation: Evaluation | None = None
        while not self.group.agree(self._is_over()):
            self.ppo.set_progress(self._progress())
            metrics = self._iteration()
            evaluation = None
            # A line of the log every few seconds, and for the first two iterations.
            if log is not None and (self.clock.seconds - logged_at >= self.plan.log_seconds or self.clock.iterations <= 2):
                span = self.clock.seconds - logged_at
                log.write(event="train", **metrics, samples_per_second=(self.clock.samples - logged_samples) / max(span, 1e-9))
                logged_at, logged_samples = self.clock.seconds, self.clock.samples
            # A milestone is due by iterations or by seconds; all ranks reach it together.
            every = self.plan.milestone_iterations
            due = (
                self.clock.iterations - milestone_iteration >= every
                if every
                else self.clock.seconds - milestone_at >= self.plan.milestone_seconds
            )
            if self.group.agree(due):
                evaluation = self._milestone(out, log)
                milestone_at, milestone_iteration = self.clock.seconds, self.clock.iterations
        return evaluation or self._milestone(out, log)

    def _restart(self) -> None:
        """New episodes everywhere, and time counts from now on."""
        self.env.restart_all()
        self.clock.resume()

    def _compile(self) -> None:
        """Let the GPU's kernels compile and its graphs be recorded before the clock starts; leaves no trace in random numbers."""
        env = self.env
        if env.world.device.type != "cuda":
            return
        state = self.generator.get_state()
        env.begin(torch.zeros_like(env.clip), torch.zeros_like(env.frame), torch.zeros_like(env.reward))
        for _ in range(5):
            env.step(torch.zeros_like(env.action))
        env.broken_count.zero_()
        torch.cuda.synchronize(env.world.device)
        self.generator.set_state(state)

    def _iteration(self) -> dict[str, float]:
        """One rollout and update; the one wait for the device is at its end."""
        ppo = self.ppo
        terms = self._roll_out()
        losses = ppo.update()
        self._refresh()
        measured = self._measure(losses, terms)
        # Here the host waits for the device.
        numbers = torch.stack(list(measured.values())).tolist()
        self.clock.pause()
        self.clock.iterations += 1
        self.clock.samples += ppo.rewards.numel() * self.group.world_size
        self._last = dict(zip(measured, numbers, strict=True))
        self._last.update(iteration=self.clock.iterations, samples=self.clock.samples, seconds=self.clock.seconds)
        return self._last

    def _roll_out(self) -> torch.Tensor:
        """Some control steps of all worlds; returns the means of the reward's terms."""
        env, ppo = self.env, self.ppo
        terms = torch.zeros_like(env.terms)
        for t in range(self.settings.ppo.steps):
            env.step(ppo.act(t, env.observation))
            ppo.record(t, env.reward, env.failed, env.timed_out, env.error)
            terms += env.terms / self.settings.ppo.steps
        ppo.finish(env.observation)
        return terms

    def _refresh(self) -> None:
        """After an update: let the next episodes start more often where these failed."""
        self.env.restart.refresh(self.group)

    def _measure(self, losses: torch.Tensor, terms: torch.Tensor) -> dict[str, torch.Tensor]:
        """Numbers of an iteration, on the device."""
        env, ppo = self.env, self.ppo
        return {
            **dict(zip(METRICS_OF_UPDATE, losses, strict=True)),
            "reward": ppo.rewards.mean(),
            "failures_per_second": ppo.failed.mean() * env.world.contract.control_hz,
            "error": ppo.errors.mean(),
            "rate": ppo.actor_rate,
            "std": self.policy.log_std.detach().exp().mean(),
            "hardness": env.restart.rates().mean(),
            "broken": env.broken_count.float(),
            "overflows": overflows_of(env.world),
            **{f"reward_{name}": term for name, term in zip(self.settings.reward.names, terms, strict=True)},
        }

    def _milestone(self, out: Path, log: MetricsLog | None) -> Evaluation:
        started = time.monotonic()
        evaluation = evaluate(self.env, self.policy.averaged_actor())
        if self.group.is_main:
            self.save(out)
            self._write_results(out, evaluation)
            numbers = {
                "samples": self.clock.samples,
                "seconds": round(self.clock.seconds, 1),
                "success": evaluation.success,
                "noisy_success": evaluation.noisy_success,
                "joint_error": evaluation.joint_error,
                "tracked": evaluation.tracked,
                "reward": self._last.get("reward"),
                "wall_seconds": round(time.monotonic() - self.clock.born, 1),
                "milestone_seconds": round(time.monotonic() - started, 1),
            }
            if log is not None:
                log.write(event="evaluation", **numbers)
            shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in numbers.items()}
            print(json.dumps(shown), flush=True)
        self._restart()
        return evaluation

    def save(self, out: Path) -> None:
        """Checkpoint, actor and critic, each file replaced whole."""
        save_checkpoint(out / CHECKPOINT, self._tensors(), self._description())
        self.save_models(out)

    def save_models(self, out: Path) -> None:
        """Actor and critic, in the format of those in the box."""
        save_actor(out / ACTOR, self.policy.averaged_actor(), self.character, self.env.world.contract, self.settings)
        critic = {"critic": self.ppo.critic_flat.half(), "log_std": self.policy.log_std}
        save_checkpoint(out / CRITIC, critic, {"kind": _CRITIC_KIND, "character": self.character.fingerprint})

    def _tensors(self) -> dict[str, torch.Tensor]:
        """All of a checkpoint's."""
        tensors = {f"ppo.{name}": value for name, value in self.ppo.state().items()}
        tensors |= {f"restart.{name}": value for name, value in self.env.restart.state().items()}
        return tensors | {"generator": self.generator.get_state()}

    def _description(self) -> dict:
        """What a checkpoint says of itself."""
        return {
            "kind": self.kind,
            "character": self.character.fingerprint,
            "contract": asdict(self.env.world.contract),
            "settings": asdict(self.settings),
            "clips": self._clip_list(),
            "seed": self.plan.seed,
            "clock": self.clock.state(),
        }

    def resume(self, path: Path) -> dict[str, torch.Tensor]:
        """Everything from a checkpoint of the same clips. Ranks other than the first draw new random numbers."""
        tensors, meta = self._open(path, load_to_resume)
        self.env.world.contract.check_matches(from_json(Contract, meta["contract"]))
        if meta["clips"] != self._clip_list():
            raise DatasetError(f"{path} was trained on other clips; start from its weights with init, or choose another folder")
        self.ppo.load_state({n.removeprefix("ppo."): t for n, t in tensors.items() if n.startswith("ppo.")})
        self.env.restart.load_state({n.removeprefix("restart."): t for n, t in tensors.items() if n.startswith("restart.")})
        self.clock.load_state(meta["clock"])
        if self.group.is_main:
            print(f"{path}: goes on after {self.clock.seconds:.0f} s, {self.clock.iterations} iterations", flush=True)
            self.generator.set_state(tensors["generator"])
        else:
            self._seed_generator(self.clock.iterations)
        return tensors

    def warm_start(self, path: Path) -> None:
        """What was learned, from a checkpoint or from an actor file (with the critic's beside it, if there is one).

        It may have been learned under another contract or for other rewards: training goes on under the new ones. The critic
        learns first. An actor set loose at once, with an optimiser that knows nothing of its gradients, forgets in one update
        what it could (a divergence of 9 where 0.05 is wanted).
        """
        # From a checkpoint: all that PPO has learned, its statistics included.
        if read_description(path).get("kind") == self.kind:
            tensors, meta = self._open(path)
            self._tell_changes(path, from_json(Contract, meta["contract"]))
            self.ppo.load_state({n.removeprefix("ppo."): t for n, t in tensors.items() if n.startswith("ppo.")})
            self._loosen()
            return
        # From an actor: networks of the same shape, but the held offset may be new to them.
        trained = load_actor(path, self.character)
        self._tell_changes(path, trained.contract)
        shapes = [
            (replace(s.observation, held=True), s.policy.hidden, s.policy.activation, s.policy.symmetry)
            for s in (trained.settings, self.settings)
        ]
        if shapes[0] != shapes[1]:
            raise SettingsError(f"{path} was trained with other networks or observations than the settings ask for")
        weights = trained.actor.network.state_dict()
        self.policy.actor.load_state_dict(weights)
        self.policy.averaged.load_state_dict(weights)
        self.policy.normalizer.load_state_dict(trained.actor.normalizer.state_dict())
        critic = path.with_name(CRITIC)
        if critic.is_file():
            tensors, _ = load_checkpoint(critic)
            with torch.no_grad():
                self.ppo.critic_flat.copy_(tensors["critic"])
                self.policy.log_std.copy_(tensors["log_std"])
        if self.settings.observation.held and not trained.settings.observation.held:
            self._learn_to_see(self.env.observer.layout["held"])
        self._loosen()

    @torch.no_grad()
    def _learn_to_see(self, new: slice) -> None:
        """Numbers of the observation that the weights have never seen begin without effect."""
        policy = self.policy
        for network in (policy.actor, policy.critic, policy.averaged):
            network.layers()[0].weight[:, new] = 0.0
        policy.normalizer.mean[new] = 0.0
        policy.normalizer.variance[new] = _UNSEEN_VARIANCE

    def _loosen(self) -> None:
        ppo = self.settings.ppo
        self.ppo.actor_waits = ppo.critic_first
        self.ppo.actor_rate.fill_(min(ppo.actor_rate, ppo.warm_rate))
        if self.policy.log_std.requires_grad:
            self.policy.log_std.data.clamp_min_(math.log(ppo.warm_std))
        else:
            self.policy.log_std.data.fill_(math.log(self.settings.policy.std))

    def _tell_changes(self, path: Path, theirs: Contract) -> None:
        if self.group.is_main and (changes := self.env.world.contract.differences(theirs)):
            print(f"{path} was trained in another world and adapts to this one: {'; '.join(changes)}", flush=True)

    def _open(self, path: Path, load: Callable[[Path], tuple[dict, dict]] = load_checkpoint) -> tuple[dict, dict]:
        tensors, meta = load(path)
        if meta.get("kind") != self.kind or meta["character"] != self.character.fingerprint:
            raise SettingsError(f"{path} is not a training of character '{self.character.name}'")
        if tensors["ppo.actor"].shape != self.ppo.actor_flat.shape:
            raise SettingsError(f"{path} has networks of another shape than the settings ask for")
        return tensors, meta

    def _seed_generator(self, iteration: int) -> None:
        words = np.random.SeedSequence([self.plan.seed, iteration, self.group.rank]).generate_state(1, np.uint64)
        self.generator.manual_seed(int(words[0]) >> 1)

    def _clip_list(self) -> list:
        return [list(pair) for pair in zip(self.env.library.names, self.env.library.length.tolist(), strict=True)]

    def _progress(self) -> float:
        if self.plan.iterations:
            return self.clock.iterations / self.plan.iterations
        return self.clock.seconds / self.plan.seconds

    def _is_over(self) -> bool:
        wall = self.plan.wall_seconds
        return self._progress() >= 1.0 or bool(wall and time.monotonic() - self.clock.born >= wall)

    def _write_results(self, out: Path, evaluation: Evaluation) -> None:
        refused = [asdict(r) for r in self.env.library.refused]
        clips = [asdict(c) for c in evaluation.clips]
        write_bytes_atomically(out / CLIPS, json.dumps({"clips": clips, "refused": refused}, indent=1).encode())


def overflows_of(world: World) -> torch.Tensor:
    """[] worlds that ever ran out of the GPU engine's contact space; 0 on the CPU."""
    count = getattr(world, "overflow_count", None)
    return count().float() if count is not None else torch.zeros((), device=world.device)


def train_tracker(
    character: Character,
    clips: list[Clip],
    out: Path | str,
    settings: TrackerSettings | None = None,
    plan: TrainingPlan | None = None,
    device: torch.device | str = "cpu",
    resume: bool = True,
    init: Path | str | None = None,
) -> Evaluation:
    """Train on clips and leave the files named above in `out`; a checkpoint found there is continued unless `resume` is False."""
    out, settings, plan = Path(out), settings or TrackerSettings(), plan or TrainingPlan()
    if (out / INDEX).is_file():
        raise DatasetError(f"{out} is a data set; choose another folder for the training")
    out.mkdir(parents=True, exist_ok=True)
    group = distributed.setup(device)
    library = build_library(character, clips, settings.reference, group.device, float(settings.contract.control_hz))
    world = make_world(character, settings.contract, plan.worlds, group.device, plan.threads, library.bank.cell)
    with world.on_stream():
        trainer = TrackerTrainer(character, library, world, settings, plan, group)
        if resume and (out / CHECKPOINT).is_file():
            trainer.resume(out / CHECKPOINT)
        else:
            if group.is_main:
                (out / METRICS).unlink(missing_ok=True)  # of a run that was stopped before its first milestone, or is begun anew
            if init is not None:
                trainer.warm_start(Path(init))
        return trainer.run(out, MetricsLog(out / METRICS) if group.is_main else None)
