"""Who touches the terrain when, and at which heights."""
