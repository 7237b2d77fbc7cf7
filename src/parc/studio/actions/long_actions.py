"""Long actions, each a job in a thread of its own: correction, generation, simulation, crossings, films. One runs at a time."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from parc.correct.correct_motions import OptimiseSettings
from parc.dataset.clip import Clip
from parc.errors import MotionError, PathError, SettingsError
from parc.path.navigation_graph import Cell
from parc.plan.offline_search import SearchSettings
from parc.plan.offline_traverse import Models, TraverseSettings
from parc.render.film_file import check_film
from parc.run.file_names import file_name
from parc.studio.actions.film_files import film
from parc.studio.actions.long_job import StudioJob
from parc.studio.actions.watched_correction import correct_watched
from parc.studio.actions.watched_crossing import cross_watched, crossing_route, crossing_told
from parc.studio.actions.watched_generation import GenerateSettings, generate_watched
from parc.studio.actions.watched_tracking import track_watched
from parc.studio.document import Document
from parc.studio.model_files import GeneratorFile, TrackerFile

if TYPE_CHECKING:
    from parc.studio.studio_session import Session

CROSSING = "crossing this terrain"
"""label of its job"""
_PREVIEW = 0.4
"""s between looks at a correction"""


class Making:
    """What takes longer than a moment: generation, correction, simulation, films; one at a time."""

    def __init__(self, session: "Session", generator: GeneratorFile | None, tracker: TrackerFile | None = None) -> None:
        self._session, self.generator, self.tracker = session, generator, tracker
        self.job: StudioJob | None = None
        self.preview: Clip | None = None
        """the motion as it is now, while it is being corrected"""
        self.filmed: tuple[str, bytes] | None = None
        """a moving picture that is ready: its name and content"""

    @property
    def is_busy(self) -> bool:
        return self.job is not None and self.job.is_running

    def stop(self) -> None:
        """End what is running; a correction keeps how far it came."""
        if self.job is not None:
            self.job.stop()

    def correct(self, settings: OptimiseSettings = OptimiseSettings()) -> StudioJob:
        """The clip that is worked on, out of the ground, onto its contacts and smoother; the result is a new clip beside it."""
        session = self._session
        source = session.document.active_clip()
        if settings.iterations < 1:
            raise SettingsError(f"{settings.iterations} iterations were asked for, expected at least 1")

        def work(job: StudioJob) -> None:
            shown = time.monotonic()

            def watch(done: int, loss: float, now: Callable[[], Clip]) -> bool:
                nonlocal shown
                if not job.is_stopping and time.monotonic() - shown > _PREVIEW:
                    shown = time.monotonic()
                    self.preview = now()
                    session.tell("preview")
                    job.report(done / settings.iterations, f"iteration {done} of {settings.iterations}, loss {loss:.3g}")
                return not job.is_stopping

            try:
                corrected = correct_watched(source, session.character, settings, session.device, watch)
            finally:
                self.preview = None
                session.tell("preview")
            added = session.add(corrected, f"correct {source.name}")
            losses = added.provenance.losses
            terms = (f"{key} {losses[f'{key}_before']:.3g} to {losses[key]:.3g}" for key in ("penetration", "contact", "sliding"))
            job.text = f"{added.name}: " + ", ".join(terms)

        return self._start(f"correcting {source.name}", work)

    def generate(self, settings: GenerateSettings = GenerateSettings()) -> StudioJob:
        """Motions along the path; they become the document's candidates."""
        session = self._session
        file, path, terrain = self.generator, session.document.path, session.document.terrain
        if file is None:
            raise SettingsError("no generator was given; start the studio with --generator FILE")
        if path is None:
            raise PathError("there is no path to move along; draw or plan one first")

        def work(job: StudioJob) -> None:
            def watch(share: float, text: str) -> bool:
                if not job.is_stopping:
                    job.report(share, text)
                return not job.is_stopping

            job.report(0.0, f"reading {file.path.name}")
            clips = generate_watched(file.get(), terrain, path, settings, watch)

            def found(document: Document) -> Document:
                if document.terrain is not terrain:
                    raise MotionError("the ground was changed while motions were generated for the old one; generate again")
                return replace(document, candidates=tuple(clips))

            session.change(f"generate {len(clips)}", found)
            arrived = sum(clip.provenance.losses["reached"] > 0 for clip in clips)
            advice = "" if arrived else "; allow more time, or try another seed or path"
            job.text = f"{len(clips)} candidates, {arrived} arrived{advice}"

        return self._start("generating", work)

    def track(self) -> StudioJob:
        """A simulated character follows the clip that is worked on; what it did is a new clip on the same ground."""
        session, file = self._session, self.tracker
        source = session.document.active_clip()
        if file is None:
            raise SettingsError("no tracker was given; start the studio with --tracker FILE")

        def work(job: StudioJob) -> None:
            job.report(0.0, f"reading {file.path.name}")
            simulated = track_watched(source, file.get(), job.on_progress)
            losses = simulated.provenance.losses
            session.add(simulated, f"track {source.name}")
            fate = "tracked to its end" if losses["success"] else f"lost after {100 * losses['tracked']:.0f} %"
            job.text = f"{fate}, joint error {100 * losses['joint_error']:.1f} cm"

        return self._start(f"simulating {source.name}", work)

    def cross(
        self,
        start: Cell | None = None,
        goal: Cell | None = None,
        seed: int = 0,
        tries: int = 5,
        method: SearchSettings = SearchSettings(),
    ) -> StudioJob:
        """A simulated character crosses the ground by search, from corner to corner if no ends are given; it becomes a clip."""
        session, generator, tracker = self._session, self.generator, self.tracker
        terrain = session.document.terrain
        if generator is None or tracker is None:
            raise SettingsError("crossing needs a generator and a tracker; start the studio with --generator and --tracker")
        settings = TraverseSettings(tries=tries, method=method, threads=1)
        route = crossing_route(terrain, start, goal, seed)

        def work(job: StudioJob) -> None:
            job.report(0.0, "reading the models")
            models = Models(generator.get_quick(), tracker.get(), tracker.critic())
            result = cross_watched(terrain, route, models, settings, seed, job.report)
            clip, told = crossing_told(result, route)
            if clip is None:
                raise MotionError(told)
            if session.document.terrain is not terrain:
                told += " It crossed the ground as it was when it started."
            session.add(clip, "cross this terrain")
            job.text = told

        return self._start(CROSSING, work)

    def film(self, suffix: str = ".webp") -> StudioJob:
        """A moving picture of the clip that is worked on and of those on the same ground; the result is `filmed`."""
        session = self._session
        active = session.document.active_clip()
        check_film(suffix)
        clips = [active, *(c for c in session.document.clips if c.terrain is active.terrain and c is not active)]

        def work(job: StudioJob) -> None:
            content = film(clips, session.character, suffix, lambda share: job.report(share, f"{100 * share:.0f} % drawn"))
            self.filmed = file_name(active.name) + suffix, content
            job.text = f"{self.filmed[0]}, {len(content) / 1000:.0f} kB"

        return self._start(f"filming {active.name}", work)

    def take_film(self) -> tuple[str, bytes] | None:
        """The latest moving picture, its name and content, once."""
        taken, self.filmed = self.filmed, None
        return taken

    def keep(self, index: int) -> Clip:
        """Take a candidate onto the table and forget the others."""
        candidates = self._session.document.candidates
        if not 0 <= index < len(candidates):
            raise MotionError(f"there is no candidate {index} among {len(candidates)}")
        return self._session.add(candidates[index], f"keep {candidates[index].name}")

    def drop_candidates(self) -> None:
        self._session.change("drop candidates", lambda d: replace(d, candidates=()) if d.candidates else d)

    def _start(self, label: str, work) -> StudioJob:
        with self._session.locked():
            if self.is_busy:
                assert self.job is not None
                raise SettingsError(f"{self.job.label} is still going on; stop it or wait for it")
            self.job = StudioJob(label, work, lambda job: self._session.tell("job")).start()
        self._session.tell("job")
        return self.job
