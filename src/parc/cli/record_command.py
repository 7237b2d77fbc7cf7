"""`parc record`: physics-corrected clips of a data set."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from parc.api import record
from parc.cli.base_command import progress, show_workers, shown
from parc.cli.character_option import OfCharacter
from parc.dataset import Dataset
from parc.loop.stage_presets import StagePreset, stage_preset
from parc.quality.measure_table import MEASURES
from parc.record.record_clips import RecordSettings
from parc.run.work_items import workers_at


@dataclass(frozen=True, kw_only=True)
class Record(OfCharacter):
    """Simulate every clip of a data set with a trained policy and keep what was tracked, with the simulator's contacts.

    A run that was stopped goes on when the same command is given again.
    """

    clips: Annotated[Path, tyro.conf.Positional]
    """data set, or folder of motion files"""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """data set folder for the recordings"""
    tracker: Path | None = None
    """trained actor (.safetensors), see `parc train-tracker`; the one in the box if not given"""
    iteration: int = 1
    """PARC iteration the recordings belong to"""
    preset: StagePreset = "default"
    """defaults of all settings. default: also stretches of 2 s and more of clips that were not tracked to their end; paper: of
    every clip the earliest start that reaches its end, whatever it looks like, on its whole terrain; others: as that preset of
    `parc loop`"""
    worlds: int = 0
    """simulated characters at once; 0: 4096 on a GPU, 256 on the CPU"""
    threads: int = 0
    """of the CPU engine and of the networks on a CPU; 0: all cores"""
    cluster: str | None = None
    """record units of clips on a Ray cluster: local, auto (the one this machine belongs to) or HOST:PORT"""
    settings: Annotated[RecordSettings, tyro.conf.arg(name="")] = field(default_factory=RecordSettings)

    @classmethod
    def of_preset(cls, preset: str, device: str) -> dict[str, Any]:
        """What the loop does."""
        return {"settings": stage_preset(preset, True).record}

    def run(self) -> dict[str, Any]:
        with progress(None, "recording") as bar, workers_at(self.cluster, self.torch_device, show_workers(bar)) as workers:
            report = record(
                self.clips,
                self.out,
                tracker=self.tracker,
                character=self.body(self.clips, self.tracker),
                iteration=self.iteration,
                worlds=self.worlds,
                threads=self.threads,
                settings=self.settings,
                device=self.device,
                on_progress=shown(bar),
                workers=workers,
            )
        recorded = Dataset.open(self.out)
        return {
            "out": str(self.out),
            **report.to_dict(),
            "clips_written": len(recorded),
            "minutes_written": recorded.seconds / 60,
        }

    def show(self, result: dict[str, Any]) -> None:
        for clip, reason in result["failures"].items():
            print(f"  nothing of {clip}: {reason}")
        whole, to_end, salvaged = (100 * result[key] for key in ("recorded_whole", "recorded_to_end", "salvaged"))
        print(
            f"of {result['clips']} clips {whole:.0f} % recorded whole, {to_end:.0f} % to their end, {salvaged:.0f} % in stretches"
        )
        print(f"{result['minutes']:.1f} minutes, {100 * result['seconds_share']:.0f} % of the reference's time")
        for name in ("tpl", "tcl") if result["minutes"] else ():
            before, after = (result[f"{name}_{when}"] for when in ("before", "after"))
            unit = MEASURES[name].unit
            print(f"{name.upper()} {before:.4g} before, {after:.4g} after ({unit}; mean over clips, same frames)")
        if result["minutes"]:
            before, after = (result[f"self_pen_frames_{when}"] for when in ("before", "after"))
            print(f"bodies in each other in {before:.1f} % of the frames before, {after:.1f} % after")
        print(f"{result['out']} holds {result['clips_written']} clips, {result['minutes_written']:.1f} minutes")
