"""Write hashes.json anew, after the models in the box were replaced: `python -m parc.models.publish_hashes`."""

import json

from parc.models import FOLDER, HASHES, described
from parc.run.atomic_files import write_bytes_atomically


def main() -> None:
    """Write hashes.json for what is in this folder and below it now."""
    files = [*FOLDER.rglob("*.safetensors"), *FOLDER.rglob("motions/index.json")]
    known = {file.relative_to(FOLDER).as_posix(): described(file) for file in sorted(files)}
    write_bytes_atomically(FOLDER / HASHES, (json.dumps(known, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
