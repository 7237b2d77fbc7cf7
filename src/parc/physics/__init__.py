"""The simulated world: MuJoCo on CPU threads, MuJoCo Warp on a GPU, one model and one interface."""
