"""The tracker and its environment for other programs: ONNX, Gymnasium, rsl-rl."""
