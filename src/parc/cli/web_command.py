"""`parc web`: one character in a page that any file host serves."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.cli.base_command import tell
from parc.cli.character_option import OfCharacter
from parc.cli.pace_option import at_pace


@dataclass(frozen=True, kw_only=True)
class BuildWeb(OfCharacter):
    """Write a folder with a page in which a simulated character crosses ground that people shape; no server is needed.

    Needs npm, which fetches and bundles MuJoCo, ONNX Runtime and three.js. With --serve the page is opened from this machine.
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("site")
    """folder to write; a page that is there is replaced"""
    generator: Path | None = None
    """trained generator (.safetensors), or `paced`: the one in the box that `--pace` takes; the usual one if not given"""
    tracker: Path | None = None
    """trained actor (.safetensors); the one in the box if not given"""
    precision: Literal["fp32", "fp16", "int8"] = "fp16"
    """of the networks' weights"""
    every: int = 10
    """control steps from one plan to the next"""
    windows: int = 3
    """windows of frames in a plan"""
    pace: str | None = None
    """speed asked for: walk, jog, run, sprint, or m/s; built in; for a generator that was trained with a pace"""
    steps: int = 3
    """steps of the sampler for each window"""
    cache: Path | None = None
    """folder where npm's packages are kept; one of this user if not given"""
    serve: bool = False
    """serve the folder to this machine's browsers afterwards, until ctrl-c; a page that is there is not built again"""
    port: int = 8000
    """of --serve; 0 takes a free one"""
    open: bool = field(default_factory=lambda: _has_display())
    """open the page in a browser; the default where there is a display"""

    def run(self) -> dict[str, Any]:
        told = {} if self.serve and (self.out / "index.html").is_file() else self._build()
        if self.serve:
            self._serve()
        return told

    def show(self, result: dict[str, Any]) -> None:
        if result:
            super().show({key: value for key, value in result.items() if key != "files"})

    def _build(self) -> dict[str, Any]:

        from parc.generate.rollout.path_rollout import RolloutSettings
        from parc.models import generator_file
        from parc.plan import Models
        from parc.plan.crossing.reflex_crossings import ReflexSettings
        from parc.web.build_page import build_page, check_folder, find_tools

        check_folder(self.out)
        find_tools()
        character = self.body(self.generator, self.tracker)
        file = generator_file(self.generator, self.pace, character.name)
        models = Models.load(character, "cpu", file, self.tracker, half=False)
        rollout = RolloutSettings(keep=models.generator.settings.future, overlap=0, steps=self.steps)
        settings = at_pace(ReflexSettings(every=self.every, windows=self.windows, rollout=rollout), self.pace)

        sizes = build_page(self.out, models.generator, models.tracker, settings, self.precision, self.cache, tell)
        return {"out": str(self.out), "megabytes": round(sum(sizes.values()) / 1e6, 2), "files": sizes}

    def _serve(self) -> None:
        from parc.web.page_server import PageServer

        server = PageServer(self.out, self.port)
        print(f"the page is at {server.url}, stop with ctrl-c", flush=True)
        if self.open:
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.wait()
        finally:
            server.close()


def _has_display() -> bool:
    from parc.studio.browser_link import has_display

    return has_display()
