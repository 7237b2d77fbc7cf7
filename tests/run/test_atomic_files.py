import os
import stat
import subprocess
import sys

import pytest

from parc.run.atomic_files import remove_leftovers, write_bytes_atomically


def test_writes_and_replaces(tmp_path):
    file = tmp_path / "new" / "folder" / "a.bin"
    write_bytes_atomically(file, b"one")
    write_bytes_atomically(file, b"two")
    assert file.read_bytes() == b"two" and os.listdir(file.parent) == ["a.bin"]


def test_data_that_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.bin"
    write_bytes_atomically(file, b"old")
    with pytest.raises(TypeError):
        write_bytes_atomically(file, ["not", "bytes"])
    assert file.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.bin"]


def test_a_name_that_is_taken_by_a_folder_leaves_nothing_behind(tmp_path):
    (tmp_path / "a.bin").mkdir()
    with pytest.raises(OSError):
        write_bytes_atomically(tmp_path / "a.bin", b"new")
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    file = tmp_path / "a.bin"
    write_bytes_atomically(file, b"old")
    script = """if True:
        import sys
        from parc.run.atomic_files import write_bytes_atomically
        while True:
            write_bytes_atomically(sys.argv[1], b"new" * 1000000)
            print(flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        writer.kill()
    assert file.read_bytes() == b"new" * 1000000


def test_new_files_may_be_read_by_whom_other_files_may_be_read(tmp_path):
    write_bytes_atomically(tmp_path / "a.bin", b"")
    (tmp_path / "b.bin").write_bytes(b"")
    assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == stat.S_IMODE((tmp_path / "b.bin").stat().st_mode)


def test_leftovers_go_and_files_stay(tmp_path):
    write_bytes_atomically(tmp_path / "deep" / "a.bin", b"kept")
    (tmp_path / "deep" / ".parc-0123456789ab-a.bin.part").write_bytes(b"half")
    foreign = [".film.mkv.part", ".parc-notes.part", "mine.part"]
    for name in foreign:
        (tmp_path / name).write_bytes(b"kept")
    remove_leftovers(tmp_path)
    assert sorted(f.name for f in tmp_path.rglob("*") if f.is_file()) == sorted(["a.bin", *foreign])
