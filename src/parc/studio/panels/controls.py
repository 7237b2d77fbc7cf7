"""What the panels share: colours of buttons, and setting a control's value."""

from typing import Any

BRAND = (58, 116, 196)
QUIET = (118, 128, 140)
"""buttons that are not the main thing of their panel"""


def put(control: Any, value: Any) -> None:
    """Set a control from the program; unlike a person's doing it is no action (`Page.act`)."""
    control.value = value
