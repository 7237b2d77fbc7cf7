"""The tracking environment: observation, action, reward, termination, restarts, and the reference clips."""
