"""Bending whole clips: unknowns, penalty terms, one solver, two-bone inverse kinematics, mechanics of contacts."""
