"""Write hashes.json anew, after the models in the box were replaced: `python -m parc.models.publish_hashes`."""

import json

from parc.models import FOLDER, HASHES, hashes_of
from parc.run.atomic_files import write_bytes_atomically


def main() -> None:
    """Write hashes.json for what is in this folder and below it now."""
    write_bytes_atomically(FOLDER / HASHES, (json.dumps(hashes_of(FOLDER), indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
