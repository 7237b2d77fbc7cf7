"""What surrounds MuJoCo Warp's own kernels in a control step: targets in, window moved, broken worlds parked, results out.

A broken world cannot be left out of a launch. `park` flags worlds whose state is not finite or too fast, and lets flagged ones
fall freely, high above the ground, where they take no space in the contact buffer that all worlds share; at the end of the
control step `bring_back` gives them their last good state again. A world that breaks between two parkings harms no
other: positions that are not numbers make no contacts.

Quaternions are MuJoCo's wxyz up to `publish`, which writes xyzw.
"""

# mypy: ignore-errors
# (kernels are compiled by Warp, whose language only looks like typed Python)

import warp as wp

PARKED_HEIGHT = 1000.0
"""m above the ground's zero"""


@wp.kernel
def take_targets(
    targets: wp.array2d[float],
    ctrl: wp.array2d[float],
    diverged: wp.array[bool],
):
    """Targets that are not finite flag their world; the motors get zeros there."""
    world = wp.tid()
    fine = bool(True)  # noqa: UP018 (a Warp variable, not a constant)
    for k in range(targets.shape[1]):
        fine = fine and wp.isfinite(targets[world, k])
    for k in range(targets.shape[1]):
        ctrl[world, k] = wp.where(fine, targets[world, k], 0.0)
    if not fine:
        diverged[world] = True


@wp.kernel
def wait_for_targets(
    last: wp.array2d[float],
    targets: wp.array2d[float],
    late: wp.array[int],
    fresh: wp.array[bool],
    substep: int,
    diverged: wp.array[bool],
    ctrl: wp.array2d[float],
):
    """In the first physics steps of a control step, targets of the last one, where they are late; never in a new episode."""
    world = wp.tid()
    if diverged[world]:
        return
    waits = substep < late[world] and not fresh[world]
    for k in range(targets.shape[1]):
        ctrl[world, k] = wp.where(waits, last[world, k], targets[world, k])


@wp.kernel
def move_window(
    qpos: wp.array2d[float],
    terrain_row: wp.array[wp.int64],
    heights: wp.array3d[float],
    low: wp.array2d[float],
    size: wp.array2d[int],
    cell: float,
    half_height: float,
    side: int,
    geom_xpos: wp.array2d[wp.vec3],
):
    """`parc.physics.terrain_window.window_boxes`, written straight to where the static boxes stand."""
    world, box = wp.tid()
    row = wp.clamp(int(terrain_row[world]), 0, heights.shape[0] - 1)
    x0 = low[row, 0]
    y0 = low[row, 1]
    i = int(wp.floor((qpos[world, 0] - x0) / cell + 0.5)) + box // side - side // 2
    j = int(wp.floor((qpos[world, 1] - y0) / cell + 0.5)) + box % side - side // 2
    top = heights[row, wp.clamp(i, 0, size[row, 0] - 1), wp.clamp(j, 0, size[row, 1] - 1)]
    geom_xpos[world, box] = wp.vec3(x0 + cell * float(i), y0 + cell * float(j), top - half_height)


@wp.kernel
def park(
    parked_qpos: wp.array[float],
    max_speed: float,
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    warmstart: wp.array2d[float],
    diverged: wp.array[bool],
):
    """Flags worlds whose state is not finite or too fast, and lets flagged ones fall high above the ground."""
    world = wp.tid()
    fine = not diverged[world]
    for k in range(qpos.shape[1]):
        fine = fine and wp.isfinite(qpos[world, k])
    for k in range(qvel.shape[1]):
        fine = fine and wp.isfinite(qvel[world, k]) and wp.abs(qvel[world, k]) <= max_speed
    if fine:
        return
    diverged[world] = True
    for k in range(qpos.shape[1]):
        qpos[world, k] = parked_qpos[k]
    for k in range(qvel.shape[1]):
        qvel[world, k] = 0.0
        warmstart[world, k] = 0.0


@wp.kernel
def bring_back(
    good_qpos: wp.array2d[float],
    good_qvel: wp.array2d[float],
    diverged: wp.array[bool],
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    warmstart: wp.array2d[float],
):
    """Flagged worlds get their last good state again."""
    world = wp.tid()
    if not diverged[world]:
        return
    for k in range(qpos.shape[1]):
        qpos[world, k] = good_qpos[world, k]
    for k in range(qvel.shape[1]):
        qvel[world, k] = good_qvel[world, k]
        warmstart[world, k] = 0.0


@wp.kernel
def publish(
    body_id: wp.array[int],
    xpos: wp.array2d[wp.vec3],
    xquat: wp.array2d[wp.quat],
    touches: wp.array2d[float],
    diverged: wp.array[bool],
    body_pos: wp.array3d[float],
    body_rot: wp.array3d[float],
    contacts: wp.array2d[float],
):
    """Poses of bodies (xyzw) and touches of all worlds; a flagged world keeps the touches it had."""
    world, body = wp.tid()
    p = xpos[world, body_id[body]]
    q = xquat[world, body_id[body]]
    for k in range(3):
        body_pos[world, body, k] = p[k]
        body_rot[world, body, k] = q[k + 1]
    body_rot[world, body, 3] = q[0]
    if not diverged[world]:
        contacts[world, body] = wp.where(touches[world, body] > 0.0, 1.0, 0.0)
