"""What a body does over time."""

from parc.motion.motion import Motion

__all__ = ["Motion"]
