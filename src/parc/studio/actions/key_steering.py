"""From keys or a stick that are held to the direction a driven character is to go.

With the camera behind the character, ahead and back are along an aim that only the sides turn: a camera that follows every
turn of the body must not turn the way it goes, or walking straight on would drift. With a camera that stays, all is as the
camera looks.
"""

import math

TURN = math.radians(75.0)
"""rad/s by which a side that is held turns the aim"""
LONGEST = 0.3
"""s between two signs of life that count"""


class KeySteering:
    """The aim while something is held; it begins as the camera looks."""

    def __init__(self) -> None:
        self._aim: float | None = None
        self._goes_back = False

    def direction(self, ahead: float, left: float, seconds: float, camera: float, follows: bool) -> tuple[float, float] | None:
        """Where to go [2] for what is held (-1 to 1 each); None: nothing is, stand still.

        seconds: since the last call; camera: rad, the way the camera looks; follows: it stays behind the character.
        """
        if math.hypot(ahead, left) < 0.1:
            self._aim, self._goes_back = None, False
            return None
        if not follows:
            angle = camera + math.atan2(left, ahead)
        else:
            goes_back = ahead < -0.5
            aim = camera if self._aim is None else self._aim
            if goes_back and not self._goes_back:  # turns round once, and then goes on that way
                aim += math.pi
            self._goes_back = goes_back
            self._aim = aim + TURN * left * min(seconds, LONGEST)
            angle = self._aim
        return math.cos(angle), math.sin(angle)
