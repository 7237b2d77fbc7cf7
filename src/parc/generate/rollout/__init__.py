"""Long motions: window after window along a path."""
