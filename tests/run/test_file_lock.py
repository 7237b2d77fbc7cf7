import subprocess
import sys

import pytest

from parc.run.file_lock import FolderLock, ForeignLockError, LockHeldError, lock_holder


def test_one_holder_who_is_named(tmp_path):
    path = tmp_path / "lock"
    lock = FolderLock(path)
    lock.note("what I am about to do")
    with pytest.raises(LockHeldError) as held:
        FolderLock(path)
    assert held.value.holder == lock_holder(path) == path.read_text().splitlines()[0]
    lock.close()
    assert lock_holder(path) is None and path.read_text() == ""


def test_what_a_killed_holder_noted_is_found_and_what_a_whole_one_noted_is_not(tmp_path):
    script = """if True:
        import os, signal, sys
        from parc.run.file_lock import FolderLock
        FolderLock(__import__("pathlib").Path(sys.argv[1])).note("half done")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "lock")])
    lock = FolderLock(tmp_path / "lock")
    assert lock.found == ["half done"]
    lock.close()
    again = FolderLock(tmp_path / "lock")
    assert again.found == []
    again.release()


def test_a_note_that_is_cut_anywhere_leaves_those_before_it_whole(tmp_path):
    """A kill may cut what is being written at any byte."""
    path = tmp_path / "lock"
    lock = FolderLock(path)
    lock.note_alone("the first")
    before = path.read_bytes()
    lock.note("the second")
    whole = path.read_bytes()
    lock.release()
    for end in range(len(before), len(whole) + 1):
        path.write_bytes(whole[:end])
        left = FolderLock(path)
        left.release()
        assert left.found[0] == "the first" and "the second".startswith("".join(left.found[1:]))


def test_a_file_that_is_no_lock_is_left_alone(tmp_path):
    for content in (b"left\nright", b"\xff" * 2**21):
        (tmp_path / "lock").write_bytes(content)
        with pytest.raises(ForeignLockError):
            FolderLock(tmp_path / "lock")
        assert (tmp_path / "lock").read_bytes() == content


def test_a_link_is_no_lock_whatever_it_points_to(tmp_path):
    """A data set of somebody else may hold one that leads to a file of this user."""
    victim = tmp_path / "numbers.txt"
    for content in ("123\n456\n", ""):
        victim.write_text(content)
        (tmp_path / "lock").unlink(missing_ok=True)
        (tmp_path / "lock").symlink_to(victim)
        with pytest.raises(ForeignLockError):
            FolderLock(tmp_path / "lock")
        assert victim.read_text() == content
