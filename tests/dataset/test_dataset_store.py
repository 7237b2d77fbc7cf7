"""A data set on disk: exact, whole at every moment, one writer."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from parc.character import humanoid
from parc.dataset import Dataset, DatasetWriter
from parc.dataset.clip_entry import ClipEntry
from parc.errors import DatasetError, MotionError, ParcError


def fill(folder, make_clip, count=6, per_shard=2):
    clips = [make_clip(f"clip {i}", i, frames=3 + i, path=i % 2 == 0, bounds=i % 3 > 0) for i in range(count)]
    with DatasetWriter(folder, humanoid()) as writer:
        for i in range(0, count, per_shard):
            writer.append(clips[i : i + per_shard])
    return clips


def test_comes_back_bit_for_bit(tmp_path, make_clip, same, character):
    clips = fill(tmp_path, make_clip)
    dataset = Dataset.open(tmp_path, character)
    assert len(dataset) == 6 and dataset.names == [c.name for c in clips]
    assert all(map(same, dataset, clips))
    assert same(dataset["clip 4"], clips[4]) and same(dataset[-1], clips[5]) and "clip 4" in dataset
    assert dataset.frames == sum(len(c.motion) for c in clips)
    assert dataset.seconds == pytest.approx(dataset.frames / 30)
    assert dataset.entries == [ClipEntry.of(c) for c in clips]


def test_unusual_numbers_survive(tmp_path, make_clip, same):
    clip = make_clip("x")
    clip.terrain.bounds[0, 0] = torch.tensor([float("inf"), -1e-41])
    clip.motion.contacts[0, 0] = 1e-42
    clip = replace(clip, motion=replace(clip.motion, fps=29.97002997002997))
    with DatasetWriter(tmp_path, humanoid()) as writer:
        writer.append([clip])
    assert same(Dataset.open(tmp_path)[0], clip)


def test_wrong_keys(tmp_path, make_clip):
    fill(tmp_path, make_clip, 2)
    dataset = Dataset.open(tmp_path)
    with pytest.raises(DatasetError, match="no clip 'clip1' among its 2; did you mean 'clip 1' or 'clip 0'"):
        dataset["clip1"]
    with pytest.raises(IndexError):
        dataset[2]


def test_an_empty_data_set(tmp_path):
    DatasetWriter(tmp_path / "new", humanoid()).close()
    assert len(Dataset.open(tmp_path / "new")) == 0
    with DatasetWriter(tmp_path / "new", humanoid()) as writer:
        assert writer.append([]) == []


def test_names_differ(tmp_path, make_clip):
    with DatasetWriter(tmp_path, humanoid()) as writer:
        writer.append([make_clip("a")])
        for clips in ([make_clip("a")], [make_clip("b"), make_clip("b")]):
            with pytest.raises(DatasetError, match="already has a clip"):
                writer.append(clips)
        assert writer.append([make_clip("a"), make_clip("b"), make_clip("b")], rename=True) == ["a_2", "b", "b_2"]
    assert Dataset.open(tmp_path).names == ["a", "a_2", "b", "b_2"]


def test_other_characters_are_refused(tmp_path, make_clip):
    other = replace(humanoid(), name="bird", bodies=humanoid().bodies[:3], mirror_of=None)
    with DatasetWriter(tmp_path, humanoid()) as writer, pytest.raises(DatasetError, match="for character 'bird'"):
        writer.append([replace(make_clip("x"), character="bird")])
    with pytest.raises(DatasetError, match="is for character 'humanoid'"):
        Dataset.open(tmp_path, other)
    with pytest.raises(DatasetError, match="is for character 'humanoid'"):
        DatasetWriter(tmp_path, other)
    with DatasetWriter(tmp_path / "bird", other) as writer, pytest.raises(MotionError, match="15 bodies"):
        writer.append([make_clip("x")])


def test_a_second_writer_is_refused_until_the_first_closes(tmp_path, make_clip):
    with DatasetWriter(tmp_path, humanoid()) as writer:
        with pytest.raises(DatasetError, match=f"being written by process {os.getpid()}"):
            DatasetWriter(tmp_path, humanoid())
        writer.append([make_clip("x")])
    DatasetWriter(tmp_path, humanoid()).close()
    with pytest.raises(DatasetError, match="closed"):
        writer.append([make_clip("y")])


def test_a_reader_sees_the_data_set_as_it_opened_it(tmp_path, make_clip, same):
    clips = fill(tmp_path, make_clip, 4, per_shard=1)
    before = Dataset.open(tmp_path)
    with DatasetWriter(tmp_path, humanoid()) as writer:
        writer.append([make_clip("new", 99)])
        during = Dataset.open(tmp_path)
        writer.compact()
    assert len(before) == 4 and len(during) == 5
    assert all(map(same, before, clips)), "compaction deleted files that an open reader still maps"


def test_compact_keeps_order_and_content(tmp_path, make_clip, same):
    clips = fill(tmp_path, make_clip, 9, per_shard=1)
    with DatasetWriter(tmp_path, humanoid()) as writer:
        writer.compact(frames_per_shard=20)
        frames = [shard.frames for shard in Dataset.open(tmp_path).index.shards]
        assert max(frames) <= 20 and 1 < len(frames) < 9
        writer.compact()
        writer.append([make_clip("more")])
    dataset = Dataset.open(tmp_path)
    assert len(dataset.index.shards) == 2 and all(map(same, dataset, [*clips, make_clip("more")]))
    assert sorted(p.name for p in tmp_path.glob("shard-*")) == sorted(s.file for s in dataset.index.shards)


def test_a_wrong_name_in_a_large_set_leads_to_the_list(tmp_path, make_clip):
    fill(tmp_path, make_clip, 6)
    with pytest.raises(DatasetError, match=r"no clip 'nobody' among its 6; `parc dataset show .*` lists them"):
        Dataset.open(tmp_path)["nobody"]


def test_removed_clips_are_gone_and_the_others_stay(tmp_path, make_clip, same):
    clips = fill(tmp_path, make_clip)
    older = Dataset.open(tmp_path)
    with DatasetWriter(tmp_path, humanoid()) as writer:
        writer.remove(["clip 1", "clip 4", "clip 5", "nobody"])
        assert len(writer) == 3 and "clip 4" not in writer
        writer.append([replace(clips[4], provenance=replace(clips[4].provenance, skill="new"))])
    now = Dataset.open(tmp_path)
    assert now.names == ["clip 0", "clip 2", "clip 3", "clip 4"] and now["clip 4"].provenance.skill == "new"
    assert all(same(now[name], clips[int(name[-1])]) for name in now.names[:3])
    assert same(older["clip 5"], clips[5]), "a reader keeps what it opened"
    held = {shard.file for shard in now.index.shards}
    assert {p.name for p in tmp_path.glob("shard-*")} == held


def files_in(folder):
    return {p.name for p in folder.iterdir()}


def test_what_a_killed_writer_left_is_passed_over_and_cleaned(tmp_path, make_clip):
    """Its journal stays in the lock: shards from number 2 on are its own, and it was about to drop the first."""
    fill(tmp_path, make_clip, 2)
    (tmp_path / "lock").write_text('77\n{"first_new": 2, "drops": ["shard-000001.safetensors"]}')
    (tmp_path / "shard-000002.safetensors").write_bytes(b"half a shar")
    (tmp_path / ".parc-0123456789ab-index.json.part").write_bytes(b"{")
    assert len(Dataset.open(tmp_path)) == 2
    DatasetWriter(tmp_path, humanoid()).close()
    assert files_in(tmp_path) == {"index.json", "lock", "shard-000001.safetensors"}, (
        "a shard that is named stays, whatever a journal says"
    )


def test_files_of_others_survive_every_writer(tmp_path, make_clip):
    """Also where they are called nearly as ours are, and where the folder was no data set."""
    folder = tmp_path / "d"
    folder.mkdir()
    foreign = {
        "film.mkv.part",
        ".hidden.part",
        ".index.json.0123456789ab.part",
        "shard-00001-of-00002.bin",
        "shard-7.safetensors",
    }
    for name in foreign:
        (folder / name).write_text(name)
    clips = fill(folder, make_clip, 4, per_shard=1)
    (folder / "shard-000900.safetensors").write_text("copied here by somebody")
    with DatasetWriter(folder, humanoid()) as writer:
        writer.append([make_clip("new")])
        writer.remove(["clip 0"])
        writer.compact()
    left = files_in(folder) - {"index.json", "lock"} - {s.file for s in Dataset.open(folder).index.shards}
    assert left == foreign | {"shard-000900.safetensors"}
    assert (folder / "shard-000900.safetensors").read_text() == "copied here by somebody"
    assert len(Dataset.open(folder)) == len(clips)


def test_shards_without_an_index_are_not_begun_over(tmp_path, make_clip, same):
    clips = fill(tmp_path, make_clip, 2)
    index = (tmp_path / "index.json").read_bytes()
    (tmp_path / "index.json").unlink()
    with pytest.raises(DatasetError, match=r"holds shards of a data set, but no index\.json"):
        DatasetWriter(tmp_path, humanoid())
    (tmp_path / "index.json").write_bytes(index)
    assert all(map(same, Dataset.open(tmp_path), clips))


def test_a_lock_that_is_none_of_ours_stays(tmp_path):
    (tmp_path / "lock").write_text("two turns to the left")
    with pytest.raises(DatasetError, match="is not a lock of this program"):
        DatasetWriter(tmp_path, humanoid())
    assert files_in(tmp_path) == {"lock"} and (tmp_path / "lock").read_text() == "two turns to the left"


def test_an_index_that_does_not_hold_together_is_refused_and_nothing_is_deleted(tmp_path, make_clip):
    fill(tmp_path, make_clip, 4)
    index = tmp_path / "index.json"
    good, files = json.loads(index.read_bytes()), files_in(tmp_path)
    first, second = good["shards"]
    for change, sentence in (
        ({"next_shard": 1}, "next_shard is 1, expected more than 2"),
        ({"shards": [first]}, "does not have the hash"),
        ({"shards": [first, first]}, "names a shard twice"),
        ({"shards": [first, second | {"file": "../shard-000002.safetensors"}]}, "expected shard-NNNNNN"),
        ({"shards": [first, second | {"file": None}]}, "file is 'None', expected str"),
        ({"shards": [first, second | {"clips": "2"}]}, "clips is '2', expected int"),
        ({"shards": None}, "shards is 'None', expected tuple"),
        ({"shards": [7]}, "ShardEntry is 7, expected an object"),
        ({"next_shard": None}, "next_shard is 'None'"),
        ({"fingerprint": 3}, "is '3', expected str"),
    ):
        index.write_text(json.dumps(good | change))
        for act in (Dataset.open, lambda folder: DatasetWriter(folder, humanoid())):
            with pytest.raises(DatasetError, match=sentence):
                act(tmp_path)
        assert files_in(tmp_path) == files


def test_a_shard_that_is_not_the_one_written_is_refused(tmp_path, make_clip):
    """Of another size, or of the same size with other clips: both without reading the arrays."""
    fill(tmp_path / "a", make_clip, 4)
    fill(tmp_path / "b", make_clip, 6)
    shard = tmp_path / "a" / "shard-000002.safetensors"
    data = shard.read_bytes()
    shard.write_bytes(data + b"\0")
    with pytest.raises(DatasetError, match=rf"has {len(data) + 1} bytes, index.json says {len(data)}"):
        Dataset.open(tmp_path / "a")
    index = tmp_path / "a" / "index.json"
    values = json.loads(index.read_bytes())
    for shard_values in values["shards"]:
        del shard_values["bytes"], shard_values["sha256"]
    del values["sha256"]
    index.write_text(json.dumps(values | {"schema": 1}))
    shard.write_bytes((tmp_path / "b" / "shard-000003.safetensors").read_bytes())
    with pytest.raises(DatasetError, match="one is damaged"):
        Dataset.open(tmp_path / "a")


def test_a_set_of_the_first_schema_is_read_and_gets_hashes_when_written_to(tmp_path, make_clip, same):
    clips = fill(tmp_path, make_clip, 4)
    index = tmp_path / "index.json"
    now = json.loads(index.read_bytes())
    shards = [{key: shard[key] for key in ("file", "clips", "frames")} for shard in now["shards"]]
    older = {key: now[key] for key in ("character", "fingerprint", "next_shard")}
    index.write_text(json.dumps(older | {"schema": 1, "shards": shards}))
    assert all(map(same, Dataset.open(tmp_path), clips))
    with DatasetWriter(tmp_path, humanoid()) as writer:
        writer.append([make_clip("more")])
    assert json.loads(index.read_bytes())["shards"][:2] == now["shards"]


def test_damage_is_named(tmp_path, make_clip):
    with pytest.raises(DatasetError, match=r"not a data set: it is not a folder with an index\.json"):
        Dataset.open(tmp_path)
    fill(tmp_path, make_clip, 4)
    index, shard = tmp_path / "index.json", tmp_path / "shard-000002.safetensors"
    good_index, good_shard = index.read_text(), shard.read_bytes()
    for text, sentence in (
        ("{", r"index\.json cannot be read"),
        ("[]", "schema"),
        (json.dumps(json.loads(good_index) | {"schema": 7}), "has schema 7, this program reads 1 and 2"),
        (json.dumps(json.loads(good_index) | {"colour": 7}), "has no field colour"),
        (good_index.replace('"clips"', '"klips"'), "has no field klips"),
    ):
        index.write_text(text)
        with pytest.raises(DatasetError, match=sentence):
            Dataset.open(tmp_path)
    index.write_text(good_index)
    for data in (good_shard[:100], good_shard[:-5], b"", good_shard.replace(b"parc.clips", b"park.clips")):
        shard.write_bytes(data)
        with pytest.raises(DatasetError, match=r"shard-000002\.safetensors"):
            Dataset.open(tmp_path)
    for old, new, sentence in (
        (b'\\"frames\\": 5', b'\\"frames\\": 6', "its entries say"),
        (b'\\"fps\\"', b'\\"fqs\\"', "has no field fqs"),
    ):
        assert old in good_shard
        shard.write_bytes(good_shard.replace(old, new, 1))
        with pytest.raises(DatasetError, match=sentence):
            Dataset.open(tmp_path)
    shard.unlink()
    with pytest.raises(DatasetError, match=r"names a file that is missing.*shard-000002"):
        Dataset.open(tmp_path)


@pytest.mark.parametrize(
    "field, value", [("root_pos", float("nan")), ("joint_rot", 0.0), ("heights", float("inf")), ("contacts", 1e30)]
)
def test_damaged_values_are_named(tmp_path, make_clip, same, field, value):
    """One array of one clip overwritten on the disk; the clip is named, the others can still be read."""
    clips = fill(tmp_path, make_clip, 4)
    shard = tmp_path / "shard-000002.safetensors"
    data = shard.read_bytes()
    array = getattr(clips[3].terrain if field == "heights" else clips[3].motion, field)
    old = array.contiguous().numpy().tobytes()
    assert data.count(old) == 1
    shard.write_bytes(data.replace(old, torch.full_like(array, value).numpy().tobytes()))
    dataset = Dataset.open(tmp_path)
    for read in (lambda: dataset[3], lambda: list(dataset)):
        with pytest.raises(DatasetError, match=r"shard-000002\.safetensors: clip 'clip 3' is damaged"):
            read()
    assert same(dataset[2], clips[2])


def test_a_failed_write_changes_nothing(tmp_path, make_clip):
    fill(tmp_path, make_clip, 2)
    with DatasetWriter(tmp_path, humanoid()) as writer:
        with pytest.raises(ParcError):
            writer.append([make_clip("good"), make_clip("clip 0")])
        assert "good" not in writer and writer.append([make_clip("good")]) == ["good"]


KILLED_AT_THE_LOCK = """
import importlib.util, os, signal, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("clips", sys.argv[2])
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
from parc.character import humanoid
from parc.dataset import Dataset, DatasetWriter

class Mortal:
    "A file that takes the process with it before its operation number so-and-so."

    def __init__(self, file, operations):
        self.file, self.left = file, operations

    def __getattr__(self, name):
        if name in ("truncate", "write", "flush"):
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
        return getattr(self.file, name)

killed = True
operations = 0
while killed:
    folder = Path(sys.argv[1]) / str(operations)
    child = os.fork()
    if child == 0:
        with DatasetWriter(folder, humanoid()) as writer:
            for number in range(3):
                writer.append([made.random_clip(f"clip {number}", number, frames=4)])
            writer._lock._file = Mortal(writer._lock._file, operations)
            writer.compact()
            writer.remove(["clip 1"])
        os._exit(0)
    killed = os.waitpid(child, 0)[1] == signal.SIGKILL
    DatasetWriter(folder, humanoid()).close()
    named = {shard.file for shard in Dataset.open(folder).index.shards}
    assert {p.name for p in folder.glob("shard-*")} == named, (operations, named, list(folder.iterdir()))
    operations += 1
print(operations)
"""


def test_a_writer_killed_while_it_writes_its_journal_leaves_nothing_behind(tmp_path):
    """Before every operation on the lock in turn, until one gets through alive."""
    helper = Path(__file__).with_name("conftest.py")
    command = [sys.executable, "-c", KILLED_AT_THE_LOCK, str(tmp_path), str(helper)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 8


KILLER = """
import importlib.util, os, random, signal, sys, time
spec = importlib.util.spec_from_file_location("clips", sys.argv[2])
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
from parc.character import humanoid
from parc.dataset import DatasetWriter

def write_for_ever():
    with DatasetWriter(sys.argv[1], humanoid()) as writer:
        while True:
            number = len(writer)
            writer.append([made.random_clip(f"clip {number}", number, frames=40)])
            os.write(1, f"{number}\\n".encode())
            if number % 7 == 6:
                writer.compact(frames_per_shard=1000)

rng = random.Random(1)
for _ in range(12):
    child = os.fork()
    if child == 0:
        write_for_ever()
    enough = os.fstat(1).st_size + rng.randint(0, 20)  # some clips later, however busy the machine is, and then at any moment
    while os.fstat(1).st_size < enough and os.waitpid(child, os.WNOHANG)[0] == 0:
        time.sleep(0.001)
    time.sleep(rng.uniform(0.0, 0.05))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer ended before it was killed"
    os.write(1, b"killed\\n")
"""


def test_nothing_reported_written_is_lost_when_the_writer_is_killed(tmp_path, make_clip, same, character):
    """A writer is killed at twelve random moments and started again while a reader looks on.

    Each writer goes on from the clips it finds, so a lost clip would be reported twice.
    """
    folder, log = tmp_path / "set", tmp_path / "log"
    helper = Path(__file__).with_name("conftest.py")
    looks = 0
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", KILLER, str(folder), str(helper)], stdout=output, stderr=subprocess.PIPE
        )
        while process.poll() is None:
            if (folder / "index.json").exists():
                assert all(len(clip.motion) == 40 for clip in Dataset.open(folder, character))
                looks += 1
            time.sleep(0.01)
    assert process.returncode == 0, process.stderr.read().decode()
    lines = log.read_text().split("\n")[:-1]
    reported = [int(line) for line in lines if line != "killed"]
    assert lines.count("killed") == 12 and len(reported) > 20 and looks > 10
    assert all(a < b for a, b in pairwise(reported)), "a clip was reported written and then lost"
    dataset = Dataset.open(folder, character)
    assert len(dataset) > reported[-1]
    assert all(same(clip, make_clip(f"clip {i}", i, frames=40)) for i, clip in enumerate(dataset))
    with DatasetWriter(folder, character) as writer:
        assert len(writer) == len(dataset)
    assert {p.name for p in folder.iterdir()} == {"index.json", "lock", *(s.file for s in dataset.index.shards)}
