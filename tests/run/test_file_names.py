"""Whatever a clip is called, its file lies where it should, under a name of its own."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from parc.run.file_names import file_name, upload_name

NAMES = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("/\\.\0 \n:aA")), min_size=0, max_size=300)


@given(NAMES)
def test_any_name_is_one_harmless_file_name(name):
    safe = file_name(name)
    assert safe and os.path.basename(safe) == safe and safe not in (".", "..") and "\\" not in safe
    assert safe.isprintable() and len(f".parc-0123456789ab-{safe}.motion.part".encode(errors="surrogatepass")) <= 255
    assert not safe.startswith(".") and safe == safe.strip() and not safe.endswith(".")


@given(NAMES, NAMES)
def test_different_names_are_different_files(a, b):
    assert (file_name(a) == file_name(b)) == (a == b)


def test_a_plain_name_stays_and_what_a_system_reserves_does_not():
    for name in ("it1_u000000_t00_0_sim3-60", "gap jump (2)", "größer"):
        assert file_name(name) == name
    for name in ("con", "NUL.motion", "com1", "COM\u00b9", "lpt\u00b3.x", "..", "", " a", "a.", "a/b", "x" * 121):
        assert file_name(name) != name


def test_an_uploaded_file_keeps_its_extension_and_loses_its_folder():
    for name in ("../../etc/passwd", "a/b", "..", ".", "", "\0", "x" * 300, "C:\\x", 'w <iframe srcdoc="">', "a.<b"):
        made = upload_name(name)
        assert made == Path(made).name and not set(made) & set('/\\\0<>:"') and made.strip(".") and len(made.encode()) < 200
    assert upload_name("my walk (2).bvh") == "my walk (2).bvh" and upload_name("dir/walk.x.bvh") == "walk.x.bvh"
