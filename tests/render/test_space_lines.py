"""Lines: where they are, how thick, and what hides them."""

import numpy as np

from parc.render.camera import Camera
from parc.render.canvas import Canvas
from parc.render.ray_cast_bodies import Rounds, draw_rounds
from parc.render.space_lines import Lines, draw_lines

RED = np.array([1, 0, 0], np.float32)
SIZE = (200, 100)


def drawn(points, ball=None, **style) -> np.ndarray:
    canvas = Canvas(Camera((0, -10, 0), (0, 0, 0), span=2.0), SIZE)
    if ball is not None:
        draw_rounds(canvas, ball)
    light = np.zeros((3, 100, 200), np.float32)
    draw_lines(canvas, light, Lines.polyline(points, RED, **style), oversample=1)
    return light[0]


def test_a_line_covers_its_length_times_its_width_without_gaps():
    red = drawn([[-1, 0, 0], [1, 0, 0.2]], width=5.0)
    columns = np.flatnonzero(red.any(0))
    assert columns.min() in range(46, 51) and columns.max() in range(149, 154)
    assert (red.any(0)[50:150]).all()
    assert 5.0 <= red.sum(0)[60:140].mean() <= 6.5
    assert red[:, 100].argmax() in range(41, 46)  # 0.1 m above the middle, 50 px a metre


def test_a_ball_in_front_hides_a_line_and_leaves_a_trace_where_asked():
    ball = Rounds.spheres([[0, -3, 0]], 0.3, [1, 1, 1])
    hidden = drawn([[-1, 0, 0], [1, 0, 0]], ball, width=3.0)
    assert hidden[:, 100].sum() == 0 and hidden[:, 60].sum() > 2
    trace = drawn([[-1, 0, 0], [1, 0, 0]], ball, width=3.0, hidden_opacity=0.25)
    assert trace[:, 100].max() == np.float32(0.25) and trace[:, 60].max() == 1
    front = drawn([[-1, -5, 0], [1, -5, 0]], ball, width=3.0)
    assert front[:, 100].sum() > 2


def test_crossing_segments_of_one_translucent_set_do_not_add_up():
    red = drawn([[-1, 0, 0], [1, 0, 0], [-1, 0, 0.001], [1, 0, 0]], width=3.0, opacity=0.5)
    assert set(np.unique(red)) == {np.float32(0), np.float32(0.5)}
