"""`parc convert`: one motion file into another."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from parc.character import Character
from parc.cli.base_command import number, progress, shown
from parc.cli.character_option import OfCharacter
from parc.dataset import Provenance, load_clip, save_clip
from parc.dataset.clip import Clip
from parc.dataset.convert import check_writable
from parc.errors import SettingsError
from parc.mocap import ReadSettings, load_naming, make_clip, read_take
from parc.mocap.read.detect_units_and_rate import unit_in_metres
from parc.quality import MocapLimits
from parc.rig import check_rig_target, convert_onto_rig

_DROPPED = {
    ".bvh": ("contacts", "terrain", "path"),
    ".glb": ("contacts", "path"),
    ".usd": ("contacts", "path"),
    ".usda": ("contacts", "path"),
    ".usdc": ("contacts", "path"),
    ".npz": ("terrain", "path"),
    "mimickit": ("contacts", "terrain", "path"),
}
"""what a format has no place for"""


@dataclass(frozen=True, kw_only=True)
class Convert(OfCharacter):
    """Read a motion file and write it in another format; both are told by their extensions.

    What a format has no place for is dropped: only .motion and PARC's .pkl keep contacts, terrain and path, .glb and .usd draw
    the terrain, .npz keeps contacts. With --retarget a motion of any other human skeleton is fitted to the character first; with
    --rig the motion is written on another skeleton, with its skin if a file gives one.
    """

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
    """file to read: .motion (ours), .pkl (PARC, PARC legacy, MimicKit), .txt (DeepMimic), .bvh (the character's bones),
    .npz (MuJoCo qpos), or a clip of a data set as FOLDER/NAME; with --retarget .bvh, .glb, .gltf, .vrm, .npz (AMASS or
    joint positions) and .npy of any skeleton"""
    target: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET")]
    """file to write: .motion, .pkl, .bvh, .npz (MuJoCo qpos), .glb, .usd .usda .usdc (these need the extra [usd])"""
    layout: Literal["parc", "legacy", "mimickit"] = "parc"
    """which of the .pkl layouts to write"""
    unit: Literal["m", "cm"] = "m"
    """length unit of a .bvh to write"""
    skin: Literal["mannequin", "capsules"] = "mannequin"
    """what the body of a .glb wears: one smooth skin, or the shapes of its physics"""
    rig: str | None = None
    """write the motion on this skeleton, to .glb or .bvh: mixamo, unreal, vrm, or a file (.glb .gltf .vrm .bvh), whose meshes
    are kept"""
    rig_names: Path | None = None
    """of the --rig's file: .json or .csv table of its joint names, {"left_knee": "bone_7"}"""
    retarget: bool = False
    """fit a motion of another skeleton to the character; contacts and ground are found too (takes a while)"""
    names: Path | None = None
    """to retarget: .json or .csv table of the source's own joint names, {"left_knee": "bone_7"}"""
    fps: float | None = None
    """to retarget: the true frame rate, where the source says none or a wrong one"""
    up: Literal["x", "y", "z"] | None = None
    """to retarget: the source's up axis, where it cannot be found out"""
    source_unit: str | None = None
    """to retarget: the source's length unit, where it cannot be found out: m, dm, cm, mm, inch, CMU, or a number of metres"""
    animation: str | None = None
    """to retarget: which animation of a .glb, .gltf or .vrm"""
    hands: bool = False
    """to retarget: hands touch things; else they are taken to swing freely"""

    def run(self) -> dict[str, Any]:
        check_writable(self.target)
        if not self.retarget and (told := self._given("names", "fps", "up", "source_unit", "animation", "hands")):
            raise SettingsError(f"{told} only makes sense with --retarget")
        if self.rig is None and self.rig_names is not None:
            raise SettingsError("--rig-names only makes sense with --rig")
        if self.rig is not None:
            check_rig_target(self.target)
            if told := " and ".join(f"--{n}" for n in ("unit", "skin") if getattr(self, n) != getattr(type(self), n)):
                raise SettingsError(f"{told} only makes sense without --rig: a rig has a unit and a skin of its own")
        character = self.body(None if self.retarget else self.source)
        clip, fitted = self._retargeted(character) if self.retarget else (load_clip(self.source, character), {})
        if self.rig is None:
            save_clip(clip, self.target, character, layout=self.layout, unit=self.unit, skin=self.skin)
        else:
            naming = load_naming(self.rig_names) if self.rig_names else None
            fitted |= convert_onto_rig(clip, self.rig, self.target, character, naming)
        kind = "mimickit" if self.layout == "mimickit" and self.target.suffix.lower() == ".pkl" else self.target.suffix.lower()
        return {
            "source": str(self.source),
            "target": str(self.target),
            "frames": len(clip.motion),
            "fps": clip.motion.fps,
            "dropped": list(_DROPPED.get(kind, ())),
            **fitted,
        }

    def _given(self, *names: str) -> str:
        """Those of these options that were given, for a sentence."""
        return " and ".join(f"--{name.replace('_', '-')}" for name in names if getattr(self, name))

    def _retargeted(self, character: Character) -> tuple["Clip", dict[str, Any]]:
        if self.fps is not None and not 0 < self.fps < 1e4:
            raise SettingsError(f"--fps is {self.fps:g}, expected a positive number of frames a second")
        naming = load_naming(self.names) if self.names else None
        unit = None if self.source_unit is None else unit_in_metres(self.source_unit, "--source-unit")
        take = read_take(self.source, character, ReadSettings(self.fps, unit, self.up, naming, animation=self.animation))
        provenance = Provenance(source=self.source.name)
        with progress(100, "retargeting", "%") as bar:
            tell = shown(bar)

            def on_part(part: str, share: float) -> None:
                tell(100 * share, 100, part)

            made = make_clip(
                take.landmarks,
                character,
                self.hands,
                None,
                provenance,
                device=self.torch_device,
                on_part=on_part,
            )
        quality = {key: value for key, value in made.quality.named.items() if key not in ("seconds", "conflict")}
        return made.clip, {"warnings": list(take.warnings), "faults": list(made.quality.faults()), "quality": quality}

    def show(self, result: dict[str, Any]) -> None:
        super().show({key: value for key, value in result.items() if key != "quality"})
        units = MocapLimits.units()
        for key, value in result.get("quality", {}).items():
            print(f"  {key:<12} {number(value):>8}  {units[key]}")
