"""Learning to track: policy, networks, PPO, the training run, and averages of trained weights."""
