"""What every job needs: checkpoints, files, locks, workers, logs, CUDA graphs."""
