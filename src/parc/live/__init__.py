"""A simulated character that plans with the generator while it runs, and goes where it is told."""
