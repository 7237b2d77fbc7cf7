"""`python -m parc` is the command line."""

import sys

from parc.cli.main import main

sys.exit(main())
