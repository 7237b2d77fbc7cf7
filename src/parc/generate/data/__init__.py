"""What the generator trains on: clips as tables of frames, and windows drawn from them."""
