"""`parc studio`: the page in the browser."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.cli.character_option import OfCharacter


@dataclass(frozen=True, kw_only=True)
class OpenStudio(OfCharacter):
    """See, edit and make motions in the browser. Runs until it is stopped with ctrl-c."""

    clips: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """motion files or clips of data sets as FOLDER/NAME to open, folders and data sets to choose from; if none is given, the
    motions in the box"""
    dataset: Path | None = None
    """data set to list, and to offer for saving"""
    terrain: Path | None = None
    """.terrain file, grey image or mesh to start on"""
    generator: Path | None = None
    """trained generator (.safetensors), for the panels that generate and drive; the one in the box if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors), for the panels of physics and driving; the one in the box if not given"""
    host: str = "127.0.0.1"
    """address to listen on; the page asks for the token on every one of them"""
    port: int = 8080
    """0 takes a free one"""
    token: str | None = None
    """secret that the page asks for, made up if none is given; other users of the machine can read it here, so the environment
    variable PARC_STUDIO_TOKEN is the better place"""
    names: tuple[str, ...] = ()
    """names that people use for this machine, if they reach it under others than its own"""
    save_below: tuple[Path, ...] = ()
    """folders below which the page may save, beside the data set of --dataset; `out` in the working directory if none is named"""
    open: Annotated[bool, tyro.conf.arg(aliases=["--browser"])] = field(default_factory=lambda: _has_display())
    """open the page in a browser; the default where there is a display"""

    def run(self) -> dict[str, Any]:
        from parc.errors import SettingsError

        try:
            from parc.studio.browser_link import BrowserLink
            from parc.studio.studio_app import Studio as Server
            from parc.studio.studio_app import StudioSettings
        except ModuleNotFoundError as error:
            if error.name is not None and error.name.split(".")[0] == "viser":
                raise SettingsError("the studio needs viser: pip install 'parc-motion[studio]'") from None
            raise
        from parc.generate.model.motion_generator import Generator
        from parc.models import shipped_generator, shipped_tracker
        from parc.run.free_memory import keep_memory_together
        from parc.studio.clip_library import Library
        from parc.studio.save_places import SavePlaces
        from parc.terrain import load_terrain
        from parc.track.learn.policy import load_actor

        if not 0 <= self.port <= 65535:
            raise SettingsError(f"port {self.port} does not exist, expected 0 to 65535")
        keep_memory_together()
        character = self.body(*self.clips, self.dataset, self.generator, self.tracker)
        library = Library(character, self.clips or _motions_in_the_box(self.dataset, character.name), self.dataset)
        ground = None if self.terrain is None else load_terrain(self.terrain)
        if self.generator is not None:
            Generator.load(self.generator, character)
        if self.tracker is not None:
            load_actor(self.tracker, character)
        token = self.token or os.environ.get("PARC_STUDIO_TOKEN") or None
        places = SavePlaces(self.save_below, self.dataset)
        settings = StudioSettings(self.host, self.port, token, self.names, self.torch_device, gallery=True, save_places=places)
        generator = self.generator or _if_there(lambda: shipped_generator(body=character.name))
        tracker = self.tracker or _if_there(lambda: shipped_tracker(character.name))
        server = Server(character, library, ground, generator, settings, tracker)
        print(f"{len(library)} motion{'s' * (len(library) != 1)}; open {server.url} in a browser, stop with ctrl-c", flush=True)
        link = BrowserLink(server.url)
        try:
            if self.open:
                link.open()
            server.wait()
        finally:
            link.close()
            server.close()
        return {}


def _has_display() -> bool:
    from parc.studio.browser_link import has_display

    return has_display()


def _motions_in_the_box(dataset: Path | None, body: str) -> tuple[Path, ...]:
    """What is listed where nothing was named."""
    from parc.models import shipped_motions

    box = None if dataset is not None else shipped_motions(body)
    return () if box is None else (box,)


def _if_there(shipped: Callable[[], Path]) -> Path | None:
    """A model in the box; an installation without it has fewer panels."""
    from parc.errors import ParcError

    try:
        return shipped()
    except ParcError:
        return None
