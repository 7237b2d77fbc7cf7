"""Training with the generator in the loop: bodies cross new terrain by reflex, and the tracker learns from it."""
