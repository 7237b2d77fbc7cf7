"""Make terrains, ask for distances to them, and draw one.

python examples/00_terrain.py
"""

from pathlib import Path

import numpy as np
import torch

from parc.render import draw_terrain
from parc.terrain import RandomBoxes, parkour_park, random_boxes, random_slice, save_terrain, signed_distance

out = Path("out/examples")
out.mkdir(parents=True, exist_ok=True)

boxes = random_boxes(RandomBoxes(size=(16, 16), boxes=10), np.random.default_rng(0))
save_terrain(boxes, out / "boxes.terrain")
draw_terrain(boxes).save(out / "boxes.png")

# A point 1 m above the middle of the map: how far is it from the ground, and which way is out?
middle = boxes.centre_of(torch.tensor([8, 8]))
point = torch.cat([middle, boxes.height_at(middle).view(1) + 1.0]).requires_grad_()
distance = signed_distance(boxes, point)
distance.backward()
print(f"{distance.item():.3f} m from the ground; the distance grows towards {point.grad.numpy().round(2)}")

# A piece of the 100 x 100 parkour park, as the paper cuts its training terrains from a large map.
piece = random_slice(parkour_park(), (16, 16), np.random.default_rng(1))
draw_terrain(piece).save(out / "park_piece.png")
print(f"pictures in {out}")
