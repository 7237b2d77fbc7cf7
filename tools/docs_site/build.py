"""Build the documentation site (`make docs`); a link that leads nowhere is an error.

    python tools/docs_site/build.py                 into out/docs, with the page of `parc web` under play/
    python tools/docs_site/build.py --no-play       without it: no npm is asked for, nothing is fetched

A page that is in out/play and newer than all of src/parc is taken as it is. It needs Node.js, npm and the extra [onnx]; where one
of them is missing, or npm cannot fetch its packages, the site is built without the page and this program says so.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLAY = ROOT / "out" / "play"


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "out" / "docs")
    parser.add_argument("--no-play", action="store_true", help="leave the page of `parc web` out")
    given = parser.parse_args()
    missing = "it was left out by --no-play" if given.no_play else build_play()
    environment = {
        **os.environ,
        "DOCS_PLAY": str(ROOT / "no-page" if missing else PLAY),
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])),
    }
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / "mkdocs.yml")]
    # Not with --quiet: mkdocs counts only the warnings that it tells.
    done = subprocess.run(
        [*build, "--site-dir", str(given.out.resolve())], env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    print("".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("INFO")), end="", file=sys.stderr)
    if done.returncode == 0:
        print(f"the site is in {given.out}" + (f", without the page of `parc web`: {missing}" if missing else ""))
        print(f"to read it: {Path(sys.executable).name} -m http.server -b 127.0.0.1 -d {given.out}")
    return done.returncode


def build_play() -> str:
    """The page of `parc web`, into out/play; why there is none, or nothing."""
    made = PLAY / "index.html"
    sources = (file for file in (ROOT / "src" / "parc").rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    if made.is_file() and made.stat().st_mtime > max(file.stat().st_mtime for file in sources):
        return ""
    tools = [name for name in ("npm", "node") if shutil.which(name) is None]
    packages = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if tools or packages:
        return f"{' and '.join(tools + packages)} not found"
    done = subprocess.run(
        [sys.executable, "-m", "parc", "web", "-o", str(PLAY), "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1] if lines else "`parc web` failed")


if __name__ == "__main__":
    sys.exit(main())
