"""The page's folder: sources bundled by npm's esbuild, the body, the skin, and the two networks of `parc export onnx`.

npm puts third-party packages, at the versions and hashes of `page/package-lock.json`, into a folder of this user's cache; the
next build finds them there. What goes into the page's folder is packed with gzip where that helps, because many hosts do not.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from parc.errors import ParcError, SettingsError
from parc.generate.model.motion_generator import Generator
from parc.plan.reflex import ReflexSettings
from parc.plan.reflex_export import export_reflex
from parc.run.atomic_files import write_bytes_atomically
from parc.run.hashing import hash_file
from parc.track.export.onnx_export import Precision
from parc.track.learn.policy import TrainedActor
from parc.web.page_body import PAGE_REFLEX, describe_body, skin_bytes

NEEDS_NPM = "the page is bundled by npm, which is not installed: install Node.js 20 or newer (nodejs.org) and try again"
_PAGE = Path(str(files("parc.web"))) / "page"
_SOURCES = ("package.json", "package-lock.json", "build.mjs", "index.html", "style.css", "notices.txt")


def build_page(
    out: Path,
    generator: Generator,
    tracker: TrainedActor,
    settings: ReflexSettings = PAGE_REFLEX,
    precision: Precision = "fp16",
    cache: Path | None = None,
    told: Callable[[str], None] = lambda what: None,
) -> dict[str, int]:
    """Write the page to folder `out`: its files with their sizes in bytes. `told` hears what is being done."""
    check_folder(out)
    with tempfile.TemporaryDirectory() as work:
        made, exported = Path(work) / "page", Path(work) / "networks"
        (made / "models").mkdir(parents=True)
        told("bundling the page")
        bundle(made, cache)
        told("exporting the networks")
        files = export_reflex(generator, tracker, exported, settings, precision)
        told("describing the body")
        facts = json.loads(files["facts"].read_text())
        (made / "body.json").write_text(json.dumps(describe_body(generator, tracker, facts)))
        (made / "body.xml").write_bytes(files["model"].read_bytes())
        _pack(made / "mannequin.bin.gz", skin_bytes(tracker.character))
        for name in ("generator", "tracker"):
            _pack(made / "models" / f"{name}.onnx.gz", files[name].read_bytes())
        told("writing the folder")
        sizes = {}
        for file in sorted(path for path in made.rglob("*") if path.is_file()):
            name = file.relative_to(made).as_posix()
            write_bytes_atomically(out / name, file.read_bytes())
            sizes[name] = file.stat().st_size
    return sizes


def _pack(file: Path, data: bytes) -> None:
    file.write_bytes(gzip.compress(data, 6, mtime=0))


def check_folder(out: Path) -> None:
    """Refuse a folder that holds something else than a page."""
    if out.is_dir() and any(out.iterdir()) and not (out / "licences.json").is_file():
        raise SettingsError(f"'{out}' holds other files; name an empty or a new folder for the page")


def find_tools() -> tuple[str, str]:
    """Where npm and Node.js are, if both are there and new enough."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise ParcError(NEEDS_NPM)
    version = re.match(r"v(\d+)", _run([node, "--version"], Path.cwd()))
    if version is None or int(version[1]) < 20:
        raise ParcError(f"the page is bundled by Node.js 20 or newer, this is {version[0] if version else 'an unknown one'}")
    return npm, node


def third_party(cache: Path | None = None) -> Path:
    """The folder `node_modules` with the packages of the lock file, fetched if they are not there yet."""
    npm, _ = find_tools()
    lock = hash_file(_PAGE / "package-lock.json")[:12]
    packages = (cache or _cache_folder()) / f"page-{lock}"
    if not (packages / "complete").is_file():
        _install(npm, packages)
    return packages / "node_modules"


def bundle(out: Path, cache: Path | None = None) -> None:
    """Everything that is not of the body: HTML, scripts, the engines, licences."""
    _, node = find_tools()
    modules = third_party(cache)
    # The bundler finds packages beside the sources, which may lie where nobody may write: both go to a folder of their own.
    with tempfile.TemporaryDirectory(dir=modules.parents[1]) as work:
        place = Path(work)
        for name in _SOURCES:
            shutil.copyfile(_PAGE / name, place / name)
        shutil.copytree(_PAGE / "src", place / "src")
        _link(modules, place / "node_modules")
        _run([node, "build.mjs", str(out.resolve())], place)


def _install(npm: str, packages: Path) -> None:
    """The packages of the lock file, into a new folder that takes its name when all are there."""
    packages.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=packages.parent) as work:
        place = Path(work) / "new"
        place.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(_PAGE / name, place / name)
        _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], place)
        (place / "complete").touch()
        if not packages.exists():
            place.rename(packages)


def _link(packages: Path, place: Path) -> None:
    """A link, or a copy where links are not allowed."""
    try:
        place.symlink_to(packages.resolve(), target_is_directory=True)
    except OSError:
        shutil.copytree(packages, place)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = next(
            (line for line in lines if "ERR" in line or "error" in line.lower()), lines[-1] if lines else "no reason told"
        )
        raise ParcError(f"{Path(command[0]).name} {command[1]} failed: {reason}")
    return done.stdout


def _cache_folder() -> Path:
    """Of this user, for what can be fetched again."""
    if os.name == "nt" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "parc"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "parc"
