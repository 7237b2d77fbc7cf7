"""Driving: a simulated character on the ground that is shown, in real time, that goes where the person wants.

One thread has the pilot and steps it thirty times a second; wishes are put into a queue and done between two steps, so whoever
asks never waits for physics. Edits of the ground reach the character at its next step. What goes wrong with a wish is
told, and the character goes on; driving ends when it is stopped, when its page goes, or when the ground no longer fits.
"""

import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from parc.dataset.clip import Clip, Provenance
from parc.errors import MotionError, ParcError, SettingsError
from parc.path.terrain_path import TerrainPath
from parc.plan.online_pilot import Pilot, PilotSettings
from parc.run.free_memory import give_back_memory
from parc.studio.model_files import GeneratorFile, TrackerFile
from parc.terrain.terrain import Terrain

if TYPE_CHECKING:
    from parc.studio.studio_session import Session

KEY_HOLD = 0.75
"""s after its last sign of life that a key counts as held"""


class LiveView(NamedTuple):
    """The character after a step, for the scene and the panel."""

    pos: NDArray[np.float64]
    """[B, 3]"""
    rot: NDArray[np.float64]
    """[B, 4] xyzw"""
    contacts: NDArray[np.float64]
    """[B]"""
    plan: NDArray[np.float64]
    """[T, 3] where the root is planned to go, from now on"""
    goal: NDArray[np.float64] | None
    """[2]"""
    wish: str
    seconds: float
    """simulated"""
    pace: float
    """s of real time for each simulated second that the work took, waiting for the clock left out"""
    arrivals: int
    falls: int
    resets: int
    plan_p50: float
    plan_p95: float
    stalls: int
    error: float
    """m from the plan"""
    answer: float
    """s from a wish to its being taken up, 95 % of them are faster; not a number before the first"""
    change: float
    """s from there to the plan that was made for it, likewise"""


class Driving:
    """A character that is driven on the stage: its thread, and the wishes that reach it."""

    def __init__(self, session: "Session", generator: GeneratorFile | None, tracker: TrackerFile | None) -> None:
        self._session, self._generator, self._tracker = session, generator, tracker
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._wishes: queue.SimpleQueue[tuple[Callable[[Pilot], object], float]] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._key_until: float | None = None
        self._run_so_far: Clip | None = None
        self.view: LiveView | None = None
        """the character as it is; None while nobody is driven"""
        self.answer_seconds: list[float] = []
        """s from a wish to its being taken up"""

    @property
    def is_possible(self) -> bool:
        return self._generator is not None and self._tracker is not None

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(
        self,
        at: tuple[float, float] | None = None,
        heading: float = 0.0,
        settings: PilotSettings = PilotSettings(),
        seed: int = 0,
    ) -> None:
        """Put the character onto the stage, in the middle if no place is given."""
        if not self.is_possible:
            raise SettingsError("driving needs a generator and a tracker; start the studio with --generator and --tracker")
        with self._lock:
            if self.is_running:
                raise SettingsError("a character is being driven already; stop it first")
            terrain = self._session.document.terrain
            place = torch.tensor(at, dtype=torch.float32) if at is not None else _middle(terrain)
            self._stop.clear()
            self._key_until, self._run_so_far = None, None
            self._wishes = queue.SimpleQueue()
            work = (terrain, place, heading, settings, seed)
            self._thread = threading.Thread(target=self._run, args=work, name="studio live", daemon=True)
            self._thread.start()
        self._session.tell("live")

    def stop(self, seconds: float = 10.0) -> None:
        """Take the character off the stage; returns when the physics has ended."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def go_to(self, x: float, y: float) -> None:
        self._wish(lambda pilot: pilot.go_to(torch.tensor([x, y], dtype=torch.float32)))

    def go_along(self, points: Sequence[tuple[float, float]]) -> None:
        """Follow a drawn line."""
        xy = torch.tensor(points, dtype=torch.float32).reshape(-1, 2)

        def follow(pilot: Pilot) -> None:
            pilot.go_along(TerrainPath(torch.cat([xy, pilot.terrain.height_at(xy)[:, None]], -1)))

        self._wish(follow)

    def hold_key(self, x: float, y: float) -> None:
        """A key or stick means this direction; it is held until it gives no sign of life for `KEY_HOLD`."""
        self._wish(lambda pilot: self._held(pilot, x, y))

    def release_key(self) -> None:
        """No key is held any more: stand still, unless the character has another goal by now."""
        self._wish(self._released)

    def stay(self) -> None:
        """Forget the goal and stop where it can."""
        self._wish(lambda pilot: pilot.stay())

    def push(self, x: float, y: float, z: float = 0.0) -> None:
        """m/s"""
        self._wish(lambda pilot: pilot.push(torch.tensor([x, y, z])))

    def keep(self) -> Clip:
        """What the character did so far, as a clip on the table."""
        if self.is_running:
            done = threading.Event()

            def look(pilot: Pilot) -> None:
                self._remember(pilot)
                done.set()

            self._wish(look)
            done.wait(5.0)
        if self._run_so_far is None:
            raise MotionError("nothing was driven yet; start driving first")
        return self._session.add(self._run_so_far, "keep the live run")

    def messages(self) -> list[str]:
        """What went wrong since the last look."""
        found = []
        while not self._messages.empty():
            found.append(self._messages.get())
        return found

    def _wish(self, wish: Callable[[Pilot], object]) -> None:
        if not self.is_running:
            raise SettingsError("no character is being driven; press 'Start driving' in the tab Live first")
        self._wishes.put((wish, time.monotonic()))

    def _held(self, pilot: Pilot, x: float, y: float) -> None:
        pilot.go_towards(torch.tensor([x, y], dtype=torch.float32))
        self._key_until = time.monotonic() + KEY_HOLD

    def _released(self, pilot: Pilot) -> None:
        if self._key_until is not None:
            self._key_until = None
            if pilot.steering.wish == "direction":
                pilot.stay()

    def _run(self, *work: Any) -> None:
        self._drive(*work)
        give_back_memory()

    def _drive(self, terrain: Terrain, place: torch.Tensor, heading: float, settings: PilotSettings, seed: int) -> None:
        assert self._generator is not None and self._tracker is not None
        torch.set_num_threads(1)
        try:
            generator, tracker, critic = self._generator.get_quick(), self._tracker.get(), self._tracker.critic()
            with Pilot(generator, tracker, terrain, settings, seed, threaded=True, critic=critic) as pilot:
                pilot.stand(place, heading)
                self._loop(pilot, 1.0 / tracker.contract.control_hz)
        except ParcError as error:
            self._messages.put(str(error))
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self._messages.put(f"This is a fault of the program: {type(error).__name__}: {error}")
        finally:
            self.view = None
            self._session.tell("live")

    def _loop(self, pilot: Pilot, step: float) -> None:
        began = due = time.monotonic()
        idle = 0.0
        while not self._stop.is_set():
            now = time.monotonic()
            ground = self._session.document.terrain
            if ground is not pilot.terrain:
                pilot.set_terrain(ground)
            self._take_wishes(pilot)
            if self._key_until is not None and now > self._key_until:
                self._key_until = None
                pilot.stay()
            if not pilot.is_ready:
                time.sleep(0.005)
                continue
            moment = pilot.step()
            self.view = _view(pilot, moment.error, time.monotonic() - began - idle, self.answer_seconds)
            self._session.tell("live")
            due += step
            wait = due - time.monotonic()
            if wait > 0:
                idle += wait
                time.sleep(wait)
            else:
                due -= wait
        self._remember(pilot)

    def _take_wishes(self, pilot: Pilot) -> None:
        while not self._wishes.empty():
            wish, asked = self._wishes.get()
            try:
                wish(pilot)
            except ParcError as error:
                self._messages.put(str(error))
            self.answer_seconds.append(time.monotonic() - asked)
            del self.answer_seconds[:-1000]

    def _remember(self, pilot: Pilot) -> None:
        if pilot.statistics.steps:
            provenance = Provenance(source="live", skill="live")
            fingerprint = self._session.character.fingerprint
            self._run_so_far = Clip("live_run", pilot.motion(), pilot.terrain, character=fingerprint, provenance=provenance)


def _middle(terrain: Terrain) -> torch.Tensor:
    """[2] the centre of the cell in the middle."""
    return terrain.centre_of(torch.tensor([n // 2 for n in terrain.size]))


def _view(pilot: Pilot, error: float, worked: float, answers: Sequence[float]) -> LiveView:
    bodies, statistics, plan = pilot.bodies, pilot.statistics, pilot.plan
    assert plan is not None
    goal = pilot.steering.goal
    hz = pilot.trained.contract.control_hz
    return LiveView(
        pos=bodies.pos.double().numpy(),
        rot=bodies.rot.double().numpy(),
        contacts=pilot.contacts.double().numpy(),
        plan=plan.frames.root_pos[0, min(pilot.plan_frame, plan.length - 1) :].double().numpy(),
        goal=None if goal is None else goal.double().numpy(),
        wish=pilot.steering.wish,
        seconds=statistics.steps / hz,
        pace=worked / (statistics.steps / hz),
        arrivals=statistics.arrivals,
        falls=statistics.falls,
        resets=statistics.resets,
        plan_p50=statistics.latency(0.5),
        plan_p95=statistics.latency(0.95),
        stalls=statistics.stalls,
        error=error,
        answer=_slow(answers),
        change=_slow(statistics.answer_seconds[-1000:]),
    )


def _slow(seconds: Sequence[float]) -> float:
    """s that 95 % are faster than; not a number of none."""
    return float(np.quantile(seconds, 0.95)) if seconds else float("nan")
