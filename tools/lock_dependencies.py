"""What `make run` installs, with hashes (requirements.lock), and the licences of all dependencies (THIRD_PARTY.md).

    .venv/bin/python tools/lock_dependencies.py [--index https://pypi.org/simple] [--only lock|licences]

Run it in the environment of `make test` after constraints.txt has changed. Versions are those of constraints.txt, the packages
those that parc-motion needs on Linux or macOS with any Python from 3.11 on, read from the installed packages. Each gets the
hashes of all files of its version that the index lists, so one lock serves all platforms and Pythons. PyTorch has no place in
it: it comes from one of two indexes (see the Makefile), whose files differ.

Licences come from the metadata of the installed packages, or of the package's wheel on the index where it is not installed.
"""

import argparse
import io
import re
import urllib.parse
import urllib.request
import zipfile
from email.message import Message
from email.parser import Parser
from html.parser import HTMLParser
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion

ROOT = Path(__file__).parents[1]
INDEX = "https://pypi.org/simple"
TOOLS = ("pip", "setuptools")
"""that install the others; setuptools is what builds parc"""
NOT_LOCKED = ("torch",)
LOCK_HEAD = """\
# What `make run` installs besides PyTorch, with the hashes of all files of these versions on PyPI.
# Made by tools/lock_dependencies.py; do not edit. pip install --no-deps --require-hashes -r requirements.lock
"""
LICENCES_HEAD = """\
# Licences of what parc depends on

None of these packages is part of this repository; pip installs them. Names, versions of `constraints.txt` and licences are those
of the packages' own metadata; the texts come with the packages. `tools/lock_dependencies.py` makes this table.
*needed*: `make run` installs it. *extra*: one of the extras of `pyproject.toml` brings it, or a package in them does.
On Linux the PyTorch of PyPI (not the CPU build) also brings NVIDIA's CUDA libraries, under NVIDIA's licences.
The wheels of av hold FFmpeg with x264, under the LGPL and the GPL.

| package | version | licence | |
|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", default=INDEX, help="simple index to take the hashes from")
    parser.add_argument("--only", choices=("lock", "licences"))
    given = parser.parse_args()
    versions = read_constraints(ROOT / "constraints.txt")
    needed = needed_packages("parc-motion") | set(TOOLS)
    if given.only != "licences":
        names = sorted(needed - set(NOT_LOCKED))
        (ROOT / "requirements.lock").write_text(LOCK_HEAD + "".join(locked(name, versions[name], given.index) for name in names))
    if given.only != "lock":
        rows = [licence_row(name, version, name in needed, given.index) for name, version in sorted(versions.items())]
        (ROOT / "THIRD_PARTY.md").write_text(LICENCES_HEAD + "".join(rows))


def read_constraints(file: Path) -> dict[str, str]:
    """Version by normalised name."""
    pins = [Requirement(line) for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}


def needed_packages(root: str) -> set[str]:
    """All that a package needs without its extras, on any of the platforms we name."""
    found: set[str] = set()
    waiting = [(canonicalize_name(root), frozenset[str]())]
    while waiting:
        name, extras = waiting.pop()
        for text in metadata.requires(name) or []:
            requirement = Requirement(text)
            if is_needed(requirement, extras) and (other := canonicalize_name(requirement.name)) not in found:
                found.add(other)
                waiting.append((other, frozenset(requirement.extras)))
    return found


def is_needed(requirement: Requirement, extras: frozenset[str]) -> bool:
    if requirement.marker is None:
        return True
    systems = (("Linux", "linux", "x86_64"), ("Linux", "linux", "aarch64"), ("Darwin", "darwin", "arm64"))
    for (system, platform, machine), python, extra in product(systems, ("3.11", "3.12", "3.13", "3.14"), ("", *extras)):
        place = {"platform_system": system, "sys_platform": platform, "platform_machine": machine, "os_name": "posix"}
        pythons = {"python_version": python, "python_full_version": f"{python}.0"}
        where: dict[str, Any] = {**default_environment(), **place, **pythons, "extra": extra}
        if requirement.marker.evaluate(where):
            return True
    return False


def locked(name: str, version: str, index: str) -> str:
    hashes = sorted({digest for file, digest, _ in listed_files(name, index) if version_of(file) == version})
    if not hashes:
        raise SystemExit(f"{index} lists no file with a hash of {name} {version}")
    return f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{digest}" for digest in hashes) + "\n"


def version_of(file: str) -> str | None:
    try:
        return str((parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[1])
    except (ValueError, InvalidVersion):
        return None  # an old kind of file, e.g. .exe


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for key, value in attrs if tag == "a" and key == "href" and value]


def listed_files(name: str, index: str) -> list[tuple[str, str, str]]:
    """File name, SHA-256 and address of all files of a package."""
    address = f"{index.rstrip('/')}/{name}/"
    with urllib.request.urlopen(address, timeout=60) as answer:
        links = _Links()
        links.feed(answer.read().decode())
    files = []
    for link in links.found:
        place, _, fragment = urllib.parse.urljoin(address, link).partition("#")
        if match := re.fullmatch("sha256=([0-9a-f]{64})", fragment):
            files.append((urllib.parse.unquote(place.rsplit("/", 1)[1]), match[1], place))
    return files


def licence_row(name: str, version: str, is_core: bool, index: str) -> str:
    try:
        found: Message = metadata.metadata(name)  # type: ignore[assignment]
    except metadata.PackageNotFoundError:
        found = wheel_metadata(name, version, index)
    return f"| {found['Name']} | {version} | {licence_of(found)} | {'needed' if is_core else 'extra'} |\n"


def wheel_metadata(name: str, version: str, index: str) -> Message:
    """Of a wheel on the index; it is read, not installed, and none of its code runs."""
    places = [place for file, _, place in listed_files(name, index) if file.endswith(".whl") and version_of(file) == version]
    if not places:
        raise SystemExit(f"{index} lists no wheel of {name} {version}")
    with urllib.request.urlopen(places[0], timeout=120) as answer, zipfile.ZipFile(io.BytesIO(answer.read())) as wheel:
        (file,) = [n for n in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
        return Parser().parsestr(wheel.read(file).decode())


def licence_of(found: Message) -> str:
    """The SPDX expression, else the classifiers, else the free text if it is short."""
    if expression := found["License-Expression"]:
        return expression
    kinds = [c.rsplit(" :: ", 1)[1] for c in found.get_all("Classifier") or [] if c.startswith("License :: ")]
    kinds = [kind for kind in kinds if kind != "OSI Approved"]
    text = (found["License"] or "").strip()
    short = text.splitlines()[0] if text and len(text) < 60 else ""
    return ", ".join(kinds) or short or "see the package"


if __name__ == "__main__":
    main()
