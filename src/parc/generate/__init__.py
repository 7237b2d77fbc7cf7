"""The motion generator: half-second windows of motion, conditioned on the ground ahead, a direction and the two frames before."""
