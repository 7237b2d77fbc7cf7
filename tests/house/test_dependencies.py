"""The lists of dependencies say the same: constraints.txt, requirements.lock, THIRD_PARTY.md, pyproject.toml, Makefile."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    return {plain(n): v for n, v in re.findall(r"^([\w.-]+)==([\w.+]+)", (ROOT / file).read_text(), re.MULTILINE)}


def test_the_lock_pins_the_versions_of_the_constraints_and_a_hash_for_each() -> None:
    locked, pinned = pins("requirements.lock"), pins("constraints.txt")
    assert len(locked) >= 20 and locked.items() <= pinned.items(), set(locked.items()) - set(pinned.items())
    blocks = re.split(r"^(?=[\w.-]+==)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(blocks) == len(locked)
    for block in blocks:
        first, *hashes = block.rstrip().split(" \\\n")
        assert hashes and all(re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}", line) for line in hashes), first


def test_the_lock_holds_all_that_parc_names_but_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needs = [*project["project"]["dependencies"], *project["build-system"]["requires"], "pip"]
    names = {plain(re.split(r"[<>=\[]", need)[0]) for need in needs}
    assert names - set(pins("requirements.lock")) == {"torch"} and "torch" in pins("constraints.txt")


def test_every_dependency_has_its_licence_in_the_table() -> None:
    rows = re.findall(r"^\| ([\w.-]+) \| ([\w.+]+) \| (.+) \| (needed|extra) \|$", (ROOT / "THIRD_PARTY.md").read_text(), re.M)
    assert {plain(name): version for name, version, *_ in rows} == pins("constraints.txt")
    needed = {plain(name) for name, _, _, kind in rows if kind == "needed"}
    assert needed == {*pins("requirements.lock"), "torch"}


def test_no_index_but_torchs_own_is_named() -> None:
    text = (ROOT / "Makefile").read_text()
    assert "--extra-index-url" not in text and text.count("--index-url") == 1
    assert re.search(r"\$\(PIP\) -c constraints.txt torch \$\$\(.*\\\n.*--no-deps --index-url", text)
