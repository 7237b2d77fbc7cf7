"""What the studio shows: figures, terrain, curves, and what the mouse meets in the scene."""
