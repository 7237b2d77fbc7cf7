"""One road, walked in one direction: a stage imports only the stages before it."""

import ast
from pathlib import Path

from .conftest import SRC, tree_of

ROAD = [
    "errors", "run", "models", "character", "motion", "terrain", "path", "dataset", "metrics", "quality", "fit", "mocap", "rig",
    "vary", "author", "generate", "correct", "physics", "track", "record", "plan", "loop", "evaluate", "reflex",
    "render", "report", "web", "api", "studio", "cli",
]  # fmt: skip


def stage_of(file: Path) -> str:
    return file.relative_to(SRC).parts[0].removesuffix(".py")


def imported_stages(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: relative import"
            names |= {f"{node.module}.{a.name}" for a in node.names}
    return {name.split(".")[1] for name in names if name.startswith("parc.")} - {"__version__"}


def test_a_stage_imports_only_stages_before_it() -> None:
    wrong = []
    for file in sorted(SRC.rglob("*.py")):
        stage = stage_of(file)
        if stage in ("__init__", "__main__"):
            continue
        assert stage in ROAD, f"{stage} has no place on the road; add it in the right order"
        wrong += [
            f"{file.relative_to(SRC)} imports {other}" for other in imported_stages(file) if ROAD.index(other) > ROAD.index(stage)
        ]
    assert not wrong, "\n".join(wrong)


def test_the_road_is_told_from_a_wrong_turn(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from parc.cli import main\nimport parc.render.raster\n")
    assert imported_stages(wrong) == {"cli", "render"}
