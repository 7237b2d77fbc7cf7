"""Every kind of file that the program reads: small good ones to damage, and what reads them."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from mutations import Mutation, by_arrays, by_bytes, by_gltf, by_header, by_json, by_pickle, by_words

from parc.author.procedural_walk import stroll
from parc.character import humanoid
from parc.dataset import Dataset, DatasetWriter, load_clip, save_clip
from parc.evaluate.traverse_measurement import read_results
from parc.generate.model.motion_generator import Generator, GeneratorSettings
from parc.generate.model.prefix_transformer import PrefixSettings
from parc.loop.admit_clips import read_admission
from parc.loop.ledger import Ledger
from parc.loop.run_progress import read_progress, read_run
from parc.mocap.make.take_shortlist import read_shortlist
from parc.mocap.read.joint_naming import load_naming
from parc.mocap.read.read_take import ReadSettings, read_take
from parc.path import TerrainPath, load_path, save_path
from parc.rig import convert_onto_rig
from parc.run.metrics_log import read_metrics
from parc.terrain import Terrain, load_terrain, save_terrain
from parc.track.learn.policy import Actor, Normalizer, load_actor, save_actor
from parc.track.learn.policy_symmetry import Symmetry
from parc.track.tracker_settings import TrackerSettings

Read = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    name: str
    file: str
    """name of the file to damage, with its extension; may lie in a folder"""
    good: Path
    """a file, or a folder with the file in it"""
    read: Read
    mutations: tuple[Mutation, ...]

    def data(self) -> bytes:
        return (self.good / self.file if self.good.is_dir() else self.good).read_bytes()

    def place(self, folder: Path, data: bytes) -> Path:
        """A damaged one, put where its reader finds it; returns what is read."""
        if not self.good.is_dir():
            path = folder / self.file
            path.write_bytes(data)
            return path
        shutil.copytree(self.good, folder / "set", dirs_exist_ok=True)
        (folder / "set" / self.file).write_bytes(data)
        return folder / "set"


def make_kinds(folder: Path) -> list[Kind]:
    torch.manual_seed(0)
    character = humanoid()
    clip = stroll(Terrain.flat((6, 4)), TerrainPath(torch.tensor([[0.4, 0.6, 0.0], [1.6, 0.6, 0.0]])))
    clip = replace(clip, motion=clip.motion.slice(0, 6))

    def motion_file(name: str, **how: str) -> Path:
        save_clip(clip, folder / name, character, **how)  # type: ignore[arg-type]
        return folder / name

    def load(path: Path) -> object:
        return load_clip(path, character)

    def take(path: Path) -> object:
        return read_take(path, character, ReadSettings(fps=None))

    def as_rig(path: Path) -> object:
        return convert_onto_rig(clip, str(path), path.with_name("out.glb"), character)

    kinds = [
        Kind("raw glb", "b.glb", motion_file("b.glb", skin="capsules"), take, (by_bytes, by_gltf, by_gltf)),
        Kind("rig glb", "r.glb", motion_file("r.glb", skin="capsules"), as_rig, (by_bytes, by_gltf, by_gltf)),
        Kind("bvh", "a.bvh", motion_file("a.bvh"), load, (by_bytes, by_words, by_words)),
        Kind("raw bvh", "b.bvh", motion_file("b.bvh"), take, (by_bytes, by_words, by_words)),
        Kind("qpos", "a.npz", motion_file("a.npz"), load, (by_bytes, by_arrays, by_arrays)),
        Kind("motion", "a.motion", motion_file("a.motion"), load, (by_bytes, by_header, by_header)),
        Kind("parc pickle", "a.pkl", motion_file("a.pkl"), load, (by_bytes, by_pickle, by_pickle)),
        Kind("mimickit", "m.pkl", motion_file("m.pkl", layout="mimickit"), load, (by_bytes, by_pickle, by_pickle)),
        Kind("legacy pickle", "l.pkl", motion_file("l.pkl", layout="legacy"), load, (by_bytes,)),
    ]
    rng = np.random.default_rng(0)
    np.savez(folder / "smpl.npz", poses=rng.normal(0, 0.1, (6, 66)), trans=np.zeros((6, 3)), mocap_framerate=30.0)
    np.savez(folder / "joints.npz", positions=rng.normal(0, 0.1, (6, 22, 3)), fps=30.0)
    np.save(folder / "joints.npy", rng.normal(0, 0.1, (6, 22, 3)))
    frames = np.tile(
        np.concatenate(
            [[1 / 30, 0, 0.9, 0], [1, 0, 0, 0], np.tile([1, 0, 0, 0], 2)]
            + 2 * [np.r_[1, 0, 0, 0, 0.1, 1, 0, 0, 0, 1, 0, 0, 0, 0.1]]
        ),
        (4, 1),
    )
    (folder / "a.txt").write_text(json.dumps({"Loop": "none", "Frames": frames.tolist()}))
    assert frames.shape[1] == 44
    kinds += [
        Kind("smpl", "smpl.npz", folder / "smpl.npz", take, (by_bytes, by_arrays, by_arrays)),
        Kind("joints", "joints.npz", folder / "joints.npz", take, (by_bytes, by_arrays, by_arrays)),
        Kind(
            "joint array",
            "joints.npy",
            folder / "joints.npy",
            lambda p: read_take(p, character, ReadSettings(fps=30)),
            (by_bytes,),
        ),
        Kind("deepmimic", "a.txt", folder / "a.txt", load, (by_bytes, by_json, by_json)),
    ]
    ground = Terrain(torch.rand(5, 4), torch.zeros(2))
    for suffix, mutations in {
        ".terrain": (by_bytes, by_header), ".png": (by_bytes,), ".obj": (by_bytes, by_words), ".stl": (by_bytes,),
        ".ply": (by_bytes,), ".glb": (by_bytes, by_gltf),
    }.items():  # fmt: skip
        save_terrain(ground, folder / f"g{suffix}")
        kinds.append(Kind(suffix[1:], f"g{suffix}", folder / f"g{suffix}", load_terrain, mutations))
    from PIL import Image

    for suffix in (".jpg", ".tif"):
        Image.fromarray((255 * rng.random((5, 4))).astype(np.uint8)).save(folder / f"g{suffix}")
        kinds.append(Kind(suffix[1:], f"g{suffix}", folder / f"g{suffix}", load_terrain, (by_bytes,)))
    kinds += _models(folder) + _texts(folder)
    with DatasetWriter(folder / "set", character) as writer:
        writer.append([replace(clip, name=f"c{i}") for i in range(2)])
        writer.append([replace(clip, name="more")])
    for file, mutations in (("index.json", (by_bytes, by_json, by_json)), ("shard-000001.safetensors", (by_bytes, by_header))):
        kinds.append(Kind(f"data set {file}", file, folder / "set", lambda p: list(Dataset.open(p)), mutations))
    return kinds


def _models(folder: Path) -> list[Kind]:
    character = humanoid()
    Generator(character, GeneratorSettings(network=PrefixSettings(16, 1, 2, 16))).save(folder / "generator.safetensors")
    settings = TrackerSettings.small()
    settings = replace(settings, policy=replace(settings.policy, hidden=(8,)))
    from parc.track.env.body_tables import BodyTables
    from parc.track.env.observation_layout import ObservationLayout
    from parc.track.learn.mlp_network import MLP

    anatomy = BodyTables(character, "cpu")
    layout = ObservationLayout(anatomy, settings.observation)
    network = MLP(layout.size, settings.policy.hidden, character.num_dof, settings.policy.activation)
    actor = Actor(Normalizer(layout.size), network, Symmetry(anatomy, layout, settings.observation))
    save_actor(folder / "actor.safetensors", actor, character, settings.contract, settings)
    return [
        Kind(
            "generator",
            "generator.safetensors",
            folder / "generator.safetensors",
            lambda p: Generator.load(p, character),
            (by_bytes, by_header, by_header),
        ),
        Kind(
            "actor",
            "actor.safetensors",
            folder / "actor.safetensors",
            lambda p: load_actor(p, character),
            (by_bytes, by_header, by_header),
        ),
    ]


def _texts(folder: Path) -> list[Kind]:
    """Small files of people, and those that a run keeps about itself."""
    save_path(TerrainPath(torch.tensor([[0.0, 0, 0], [1, 1, 0]])), folder / "path.json")
    (folder / "names.json").write_text('{"left_knee": "bone_7", "right_knee": "bone_8"}')
    (folder / "list.csv").write_text("source,first_frame,last_frame,true_fps,skill,unit\na.bvh,0,90,30,walk,cm\nb.bvh,,,,run,\n")
    run = folder / "run"
    (run / "iteration-01" / "dataset").mkdir(parents=True)
    expected = dict.fromkeys(("generator", "synthesis", "tracker", "recording", "dataset"), 1.0)
    plan = {
        "expected": expected,
        "generator": {"steps": 3, "seconds": 1.0},
        "synthesis": {"clips": 3},
        "tracker": {"training": {"iterations": 3}},
    }
    settings = {"name": "tiny", "plans": [plan], "iterations": 1, "physics_correction": True, "seed": 0, "minutes": None}
    (run / "run.json").write_text(json.dumps({"settings": settings, "sources": {"dataset": None}}))
    mark = {"sha256": "0" * 64, "bytes": 3, "mtime_ns": 5}
    entry = {
        "inputs": {"a": "1"},
        "began": 1.0,
        "spent": 0.0,
        "seconds": 2.0,
        "outputs": {"start/x": mark},
        "result": {"joined": 2},
    }
    (run / "ledger.json").write_text(
        json.dumps({"schema": 1, "stages": {"start": entry, "iteration-01/generator": entry | {"seconds": None}}})
    )
    (run / "iteration-01" / "dataset" / "admission.json").write_text(
        json.dumps({"joined": ["a"], "refused": {}, "clips": 2, "minutes": 0.1})
    )

    (folder / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n{"event": "evaluation", "success": null}\n')
    (folder / "results.jsonl").write_text(json.dumps({"name": "a", "reached": True, "setup": {"seed": 0}}) + "\n")

    def look(path: Path) -> object:
        return read_run(path), Ledger(path).faults(), read_progress(path)

    return [
        Kind("path", "path.json", folder / "path.json", load_path, (by_bytes, by_json)),
        Kind("naming", "names.json", folder / "names.json", load_naming, (by_bytes, by_json)),
        Kind("shortlist", "list.csv", folder / "list.csv", read_shortlist, (by_bytes, by_words)),
        Kind("metrics", "metrics.jsonl", folder / "metrics.jsonl", read_metrics, (by_bytes, by_words)),
        Kind(
            "traverse results",
            "results.jsonl",
            folder / "results.jsonl",
            lambda p: read_results(p, {"seed": 0}),
            (by_bytes, by_words),
        ),
        Kind("run.json", "run.json", run, look, (by_bytes, by_json, by_json)),
        Kind("ledger", "ledger.json", run, look, (by_bytes, by_json, by_json)),
        Kind(
            "admission",
            "iteration-01/dataset/admission.json",
            run,
            lambda p: read_admission(p / "iteration-01" / "dataset"),
            (by_bytes, by_json),
        ),
    ]
