"""The motion generator: windows of 13 frames on the ground ahead, a direction and two past frames; rollouts keep 7 (.23 s)."""
