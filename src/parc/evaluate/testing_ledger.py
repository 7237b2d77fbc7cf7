"""Who looked at the test set: lines of JSON, appended to a file that is meant to be kept. A run writes one as it begins, before
it sees a terrain, so that a run that is killed is known too, and one as it ends, with the same id:

{"run": "9f3c01ab", "state": "begun", "date": "2026-01-31T12:00:00Z", "code": "commit 1a2b3c4, changed", "command": "parc evaluate
 generator --set test", "test_set": {"set", "version", "families", "terrains"}, "models": {file name: sha256}, "numbers": {}}
{"run": "9f3c01ab", "state": "finished", ..., "numbers": {..}}            or "stopped"

A set stays clean only as long as nobody chooses by it: the more often it was looked at before a number, the less this says.
"""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parc import __version__
from parc.run.metrics_log import MetricsLog

GENERATOR_NUMBERS = ("fwd", "tpl", "tcl", "hjf_code", "goal", "foot_skate")
TRACKER_NUMBERS = ("success", "tracked", "joint_error")
CROSSING_NUMBERS = ("terrains", "runs", "success", "success_error", "falls_per_second")
TRAVERSE_NUMBERS = ("terrains", "reached", "share_reached", "share_of_path")


@contextmanager
def noted_test_run(file: Path, command: str, test_set: dict[str, Any], models: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Put headline numbers into what is yielded."""
    log, run, code = MetricsLog(file), secrets.token_hex(4), source_version()
    numbers: dict[str, Any] = {}

    def note(state: str) -> None:
        facts = {"run": run, "state": state, "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        log.write(**facts, code=code, command=command, test_set=test_set, models=models, numbers=numbers)

    note("begun")
    state = "stopped"
    try:
        yield numbers
        state = "finished"
    finally:
        note(state)


def source_version() -> str:
    """The commit of this source, if it lies in a git repository that tracks it; else the version of the package."""
    here = Path(__file__)
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return f"parc {__version__}"
    commit = _git(here.parent, "rev-parse", "--short=12", "HEAD")
    changed = _git(here.parents[1], "status", "--porcelain", "--", ".")
    return f"commit {commit}, changed" if changed else f"commit {commit}"


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def headlines(result: dict[str, Any]) -> dict[str, Any]:
    """The few numbers of the result of an evaluation that are worth a line."""
    found: dict[str, Any] = {}
    if "families" in result:
        found["traverse"] = {family: _some(row, TRAVERSE_NUMBERS) for family, row in result["families"].items()}
    if "crossings" in result:
        found["crossings"] = {
            row["label"]: {family: _some(part, CROSSING_NUMBERS) for family, part in row["by_family"].items()}
            for row in result["crossings"]
        }
    for key, rows in (("generators", result.get("generators")), ("blending", _blending(result))):
        if rows:
            found[key] = {
                row["label"]: {
                    f"{family} {limit} s": _some(values["mean"], GENERATOR_NUMBERS)
                    for family, part in row["by_family"].items()
                    for limit, values in part["limits"].items()
                }
                for row in rows
            }
    if result.get("trackers"):
        found["trackers"] = {
            row["label"]: {family: _some(part, TRACKER_NUMBERS) for family, part in row["by_family"].items()}
            for row in result["trackers"]
        }
    return found


def _blending(result: dict[str, Any]) -> list[dict[str, Any]] | None:
    return result["blending"]["rows"] if "blending" in result else result.get("rows")


def _some(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: row[key] for key in keys}
