"""The generator itself: what a frame is, the denoisers, the noise schedule, blended denoising."""
