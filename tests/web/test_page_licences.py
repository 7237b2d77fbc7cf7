"""What the page holds: how much, what of others, and under which licences (the list in the page against the lock file)."""

import json
from pathlib import Path

import parc.web

PAGE = Path(parc.web.__file__).parent / "page"
NOT_IN_THE_PAGE = ("@protobufjs/", "@types/", "flatbuffers", "guid-typescript", "long", "platform", "protobufjs", "undici-types")
"""what ONNX Runtime's package asks for and its WebAssembly part does not use"""
IN_ANOTHER = {"onnxruntime-common"}
"""of the same authors, under the same licence, and inside the script of onnxruntime-web"""


def locked() -> dict[str, str]:
    """Versions of the packages that are not only for development."""
    packages = json.loads((PAGE / "package-lock.json").read_text())["packages"]
    return {
        path.removeprefix("node_modules/"): entry["version"]
        for path, entry in packages.items()
        if path and not (entry.get("dev") or entry.get("optional"))
    }


def notices() -> list[tuple[str, str, str, str]]:
    """Package with version, name, licence, text."""
    sections = (PAGE / "notices.txt").read_text().split("\n=== ")[1:]
    return [(*section.partition("\n")[0].split(" | "), section.partition("\n")[2].strip()) for section in sections]


def test_notices_are_of_the_versions_in_the_lock_file() -> None:
    """With another version of an engine somebody has to look at what it holds."""
    versions = locked()
    for holder, name, licence, text in notices():
        package, version = holder.rsplit(" ", 1)
        assert versions[package] == version, f"notices.txt is for {holder}, the lock file has {versions[package]}"
        assert name and licence and len(text) > 80, name


def test_the_list_is_that_of_the_lock_file(site: Path) -> None:
    listed = json.loads((site / "licences.json").read_text())
    packages = {entry["name"]: entry["version"] for entry in listed if "inside" not in entry and entry["name"] != "parc"}
    versions = locked()
    assert packages == {name: versions[name] for name in packages}
    rest = {name for name in versions if not name.startswith(NOT_IN_THE_PAGE)}
    assert rest == set(packages) | IN_ANOTHER
    script = (site / "worker.js").read_text() + (site / "page.js").read_text()
    assert not [word for word in ("flatbuffers", "protobuf") if word in script]


def test_each_has_its_text(site: Path) -> None:
    listed = json.loads((site / "licences.json").read_text())
    inside = {(entry["inside"], entry["name"]): entry["text"] for entry in listed if "inside" in entry}
    assert inside == {(holder, name): text for holder, name, _, text in notices()}
    for entry in listed:
        assert (
            "opyright" in entry["text"]
            or entry["licence"] in ("Zlib", "CC0-1.0", "public domain", "BSL-1.0")
            or "LLVM" in entry["text"]
        )
    texts = {entry["name"]: entry["text"] for entry in listed}
    assert "Apache License" in texts["@mujoco/mujoco"] and "TERMS AND CONDITIONS" in texts["@mujoco/mujoco"]
    assert "DeepMind" in texts["@mujoco/mujoco"] and "Microsoft" in texts["onnxruntime-web"] and "CMU" in texts["parc"]


def test_the_first_download_is_small(site: Path) -> None:
    """All of it is fetched at the start, most of it packed already; two thirds are the networks' weights."""
    sizes = {file.relative_to(site).as_posix(): file.stat().st_size for file in site.rglob("*") if file.is_file()}
    assert sum(sizes.values()) < 30e6
    assert 8e6 < sum(size for name, size in sizes.items() if name.endswith(".onnx.gz")) < 20e6
