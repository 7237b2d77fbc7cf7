"""The models in the box as a folder of ONNX files, exported once; fewer bits are made of the same graphs."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from parc.character import humanoid
from parc.dataset import Clip, Dataset
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.models import shipped_motions
from parc.plan import Models
from parc.plan.crossing.reflex_crossings import ReflexSettings

pytest.importorskip("onnxscript", reason="onnxscript is not installed (parc-motion[onnx])")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (parc-motion[onnx])")


@pytest.fixture(scope="session")
def models() -> Models:
    return Models.load(humanoid(), half=False)


@pytest.fixture(scope="session")
def folder(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """generator.onnx, tracker.onnx, humanoid.xml, facts.json in float32."""
    from parc.plan.reflex_export import export_reflex

    folder = tmp_path_factory.mktemp("onnx")
    export_reflex(models.generator, models.tracker, folder)
    return folder


@pytest.fixture(scope="session")
def facts(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "facts.json").read_text())


@pytest.fixture(scope="session")
def in_precision(models: Models, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder with weights of other precisions."""
    import onnx

    from parc.track.export.generator_graph import GeneratorGraph
    from parc.track.export.onnx_export import with_precision
    from parc.track.export.tracker_graph import TrackerGraph

    graphs = {
        "generator.onnx": GeneratorGraph(models.generator, ReflexSettings().rollout),
        "tracker.onnx": TrackerGraph(models.tracker),
    }
    made = {"fp32": folder}

    def make(precision: Any) -> Path:
        if precision not in made:
            made[precision] = tmp_path_factory.mktemp(precision)
            for name, graph in graphs.items():
                onnx.save(with_precision(onnx.load(folder / name), graph, precision), made[precision] / name)
            for name in ("facts.json", "humanoid.xml"):
                (made[precision] / name).write_bytes((folder / name).read_bytes())
        return made[precision]

    return make


@pytest.fixture(scope="session")
def session() -> Callable[[Path], Callable[..., dict[str, torch.Tensor]]]:
    """A file as a function of named tensors, on one thread."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3

    def load(file: Path) -> Callable[..., dict[str, torch.Tensor]]:
        network = runtime.InferenceSession(str(file), options)
        names = [value.name for value in network.get_outputs()]

        def run(**given: torch.Tensor) -> dict[str, torch.Tensor]:
            found = network.run(None, {name: value.numpy() for name, value in given.items()})
            return {name: torch.from_numpy(value) for name, value in zip(names, found, strict=True)}

        return run

    return load


@pytest.fixture(scope="session")
def clips() -> list[Clip]:
    """Of the recorded motions in the box, some that are long enough, on ground that is not level."""
    shipped = shipped_motions()
    assert shipped is not None
    dataset = Dataset.open(shipped, humanoid())
    long = [i for i, entry in enumerate(dataset.entries) if entry.frames > 60][::12]
    found = [dataset[i] for i in long]
    return [clip for clip in found if float(clip.terrain.heights.max() - clip.terrain.heights.min()) > 0.2][:8]


@pytest.fixture(scope="session")
def example() -> ModuleType:
    """examples/06_onnx_reflex.py"""
    file = Path(__file__).parents[2] / "examples" / "06_onnx_reflex.py"
    spec = importlib.util.spec_from_file_location("onnx_reflex", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def rollout() -> RolloutSettings:
    """As crossing by reflex has it."""
    return ReflexSettings().rollout
