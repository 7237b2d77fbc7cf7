"""What is put right at the end of a window: feet, hovering bodies, walls."""
