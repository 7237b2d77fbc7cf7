"""The terrain under a recorded motion, and the motion fitted to it."""
