"""Training the generator: losses, objective, optimiser, the step, and the run."""
