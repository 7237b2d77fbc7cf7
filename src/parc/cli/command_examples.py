"""One or two calls of every command that its help ends with; `tests/cli/test_help.py` parses each."""

EXAMPLES: dict[str, tuple[str, ...]] = {}
