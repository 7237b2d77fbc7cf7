"""Ground, ways and links of the page against the library: the page's own modules run in Node, Python is the oracle."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import parc.web
from parc.character import humanoid
from parc.errors import PathError
from parc.motion.mujoco_qpos import qpos_to_bodies, standing_qpos
from parc.path import TerrainPath
from parc.path.astar_search import cheapest_route
from parc.path.edge_cost import CostSettings, draw_costs
from parc.path.navigation_graph import NavigationGraph
from parc.path.path_batch import PathBatch
from parc.path.path_planning import PlanSettings
from parc.plan.least_effort_route import RouteSettings, plan_route
from parc.plan.online_steering import Steering
from parc.plan.path_progress import at_goal, walk
from parc.terrain.procedural_terrain import RandomBoxes, RandomWalks, random_boxes, random_walks
from parc.terrain.random_platforms import RandomPlatforms, platform_chain
from parc.terrain.terrain import Terrain
from parc.web.page_random import PageRandom

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
SOURCES = Path(parc.web.__file__).parent / "page" / "src"
SEEDS = range(6)


def page(*jobs: tuple[str, dict]) -> list:
    """What the page's modules answer."""
    script = Path(__file__).with_name("page_numbers.mjs")
    done = subprocess.run(
        [str(NODE), str(script), str(SOURCES)], input=json.dumps(jobs), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(terrain: Terrain) -> dict:
    return {"rows": terrain.size[0], "columns": terrain.size[1], "heights": terrain.heights.flatten().tolist()}


def rounded(terrain: Terrain) -> Terrain:
    """To the millimetre, as the page keeps heights (halves go up there)."""
    heights = np.floor(terrain.heights.numpy().astype(np.float64) * 1000 + 0.5) / 1000
    return replace(terrain, heights=torch.from_numpy(heights.astype(np.float32)))


def grounds() -> list[Terrain]:
    """Some of each kind, rounded."""
    made = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        made += [random_boxes(RandomBoxes(size=(16, 18)), rng), random_walks(RandomWalks(size=(20, 17)), rng)]
        made.append(platform_chain(RandomPlatforms(count=3, depth=(2.2, 2.5)), rng).terrain)
    return [rounded(terrain) for terrain in made]


def test_random_numbers_are_the_pages() -> None:
    seeds = [0, 1, 7, 4294967295]
    for seed, answer in zip(seeds, page(*(("random", {"seed": s, "count": 500}) for s in seeds)), strict=True):
        random = PageRandom(seed)
        assert [random.bits() for _ in range(500)] == answer["bits"]
        normal = np.array([random.normal() for _ in range(500)])
        np.testing.assert_allclose(normal, answer["normal"], rtol=1e-12)
    assert abs(normal.mean()) < 0.15 and abs(normal.std() - 1) < 0.1


def test_new_ground_is_the_librarys() -> None:
    """Boxes, walks and platforms of the page are those of `parc.terrain`, drawn with the page's random numbers."""
    boxes = {"rows": 16, "columns": 15, "boxes": 10, "side": [5, 10], "height": [-2, 2]}
    walks = {"rows": 20, "columns": 22, "walks": 4, "steps": 200, "height": [-1.6, 2], "floor": -2}
    towers = {"count": 4, "gaps": [1, 5], "width": [1, 4], "runUp": [1, 6], "rise": [-0.8, 0.5], "depth": [2.2, 3], "landing": 4}
    jobs = [
        ("terrain", {"kind": k, "seed": s, "settings": o})
        for s in SEEDS
        for k, o in (("boxes", boxes), ("walks", walks), ("platforms", towers))
    ]
    answers = iter(page(*jobs))
    for seed in SEEDS:
        made = (
            random_boxes(RandomBoxes(size=(16, 15)), PageRandom(seed)),
            random_walks(RandomWalks(size=(20, 22), walks=4, steps=200), PageRandom(seed)),
            platform_chain(
                RandomPlatforms(count=4, gaps=(0.4, 2.0), width=(1, 4), run_up=(1, 6), rise=(-0.8, 0.5), depth=(2.2, 3.0)),
                PageRandom(seed),
            ).terrain,
        )
        for terrain in made:
            answer = next(answers)
            assert (answer["rows"], answer["columns"]) == terrain.size
            np.testing.assert_allclose(np.reshape(answer["heights"], terrain.size), rounded(terrain).heights, atol=1.1e-3)


def test_the_graph_is_the_librarys() -> None:
    terrains = grounds()
    for terrain, answer in zip(terrains, page(*(("graph", {"terrain": plain(t)}) for t in terrains)), strict=True):
        graph = NavigationGraph.of(terrain)
        assert answer["first"] == graph.indptr.tolist()
        assert answer["targets"] == graph.targets.tolist()
        assert answer["isJump"] == graph.is_jump.tolist()


def test_ways_are_the_librarys() -> None:
    """A* finds a way exactly where the library does, of the same cost; straightened, its waypoints are the same."""
    terrains = grounds()
    ends = [((2, 2), (t.size[0] - 3, t.size[1] - 2)) for t in terrains]
    jobs = [
        ("route", {"terrain": plain(t), "start": a, "goal": b, "random": 0.25}) for t, (a, b) in zip(terrains, ends, strict=True)
    ]
    found = 0
    settings = RouteSettings()
    for terrain, (start, goal), answer in zip(terrains, ends, page(*jobs), strict=True):
        try:
            path = plan_route(terrain, start, goal, np.random.default_rng(0), settings)
        except PathError:
            assert answer is None
            continue
        found += 1
        np.testing.assert_allclose(answer["nodes"], path.nodes, atol=1e-5)
    assert found > 9


def test_a_clicked_goal_gets_the_way_that_live_driving_gets() -> None:
    terrains = grounds()
    jobs, wanted = [], []
    for terrain in terrains:
        here, goal = terrain.centre_of(torch.tensor([3, 3])) + 0.1, terrain.centre_of(torch.tensor([10, 9])) - 0.07
        jobs.append(("steer", {"terrain": plain(terrain), "here": here.tolist(), "goal": goal.tolist()}))
        try:
            wanted.append(Steering().to_goal(terrain, here, goal).nodes)
        except PathError:
            wanted.append(None)
    for answer, nodes in zip(page(*jobs), wanted, strict=True):
        if nodes is None:
            assert answer is None
        else:
            np.testing.assert_allclose(answer, nodes, atol=1e-5)


def test_progress_and_target_are_the_librarys() -> None:
    rng = np.random.default_rng(5)
    for terrain in grounds()[:6]:
        start, goal = (2, 2), (terrain.size[0] - 3, terrain.size[1] - 3)
        cost = CostSettings(c_min=0.25, c_max=0.25)
        try:
            path = plan_route(terrain, start, goal, rng, RouteSettings(plan=PlanSettings(cost=cost)))
        except PathError:
            continue
        paths = PathBatch.stack([path])
        arcs = torch.arange(0, path.length + 0.5, 0.04)
        roots = torch.stack([paths.position(arc[None])[0] for arc in arcs])
        roots = roots + torch.from_numpy(rng.normal(0, 0.08, roots.shape)).float() + torch.tensor([0, 0, 0.87])
        (answer,) = page(("follow", {"nodes": path.nodes.tolist(), "roots": roots.tolist()}))
        walked = walk(paths, paths.start(), roots[None])
        np.testing.assert_allclose([row[0] for row in answer], walked[0], atol=2e-4)
        targets = torch.cat([paths.target(progress[None]) for progress in walked[0]])
        np.testing.assert_allclose([row[1:3] for row in answer], targets, atol=3e-4)
        assert [bool(row[3]) for row in answer] == at_goal(paths, roots[None], walked, 0.5)[0].tolist()


def test_a_link_gives_the_same_ground() -> None:
    terrains = grounds()
    jobs = [("link", {"terrain": plain(t), "seed": 4000000000 + k, "start": [3, 4]}) for k, t in enumerate(terrains)]
    for k, (terrain, answer) in enumerate(zip(terrains, page(*jobs), strict=True)):
        assert answer["terrain"] == plain(terrain) or np.array_equal(
            np.float32(answer["terrain"]["heights"]), terrain.heights.flatten()
        )
        assert (answer["seed"], answer["start"], answer["kind"]) == (4000000000 + k, [3, 4], "boxes")
        assert answer["length"] < 1000


def test_a_damaged_link_is_one_sentence() -> None:
    for hash in ("#g=AAAA", "#g=!!", "#g=", "#g=eJwDAAAAAAE"):
        (answer,) = page(("damaged", {"hash": hash}))
        assert "damaged" in answer["sentence"]
    assert page(("damaged", {"hash": "#other"})) == [{"read": None}]


def test_a_turned_state_is_the_body_turned_and_moved() -> None:
    """All bodies of the turned state are where a turn about the vertical takes them."""
    character = humanoid()
    qpos = standing_qpos(character, torch.tensor([0.1, -0.2, 0.9])).double()
    qpos[3:7] = torch.nn.functional.normalize(torch.tensor([0.9, 0.1, -0.2, 0.3]).double(), dim=0)
    angle, place = 2.3, [1.5, -0.7, 0.4]
    (answer,) = page(("turned", {"qpos": qpos.tolist(), "heading": angle, "place": place}))
    before, _ = qpos_to_bodies(character, qpos.float())
    after, _ = qpos_to_bodies(character, torch.tensor(answer).float())
    c, s = np.cos(angle), np.sin(angle)
    turn = torch.tensor([[c, -s, 0], [s, c, 0], [0, 0, 1]]).float()
    torch.testing.assert_close(after, before @ turn.T + torch.tensor(place), atol=1e-5, rtol=0)


def test_costs_by_hand() -> None:
    """On level ground a straight walk of n cells costs n of the squared cell and as many fixed draws."""
    terrain = Terrain.flat((9, 9))
    (answer,) = page(("route", {"terrain": plain(terrain), "start": [1, 4], "goal": [7, 4], "random": 0.25}))
    assert answer["cost"] == pytest.approx(6 * (0.16 + 0.25))
    graph = NavigationGraph.of(terrain)
    settings = CostSettings(c_min=0.25, c_max=0.25)
    route = cheapest_route(graph, draw_costs(graph, settings, np.random.default_rng(0)), (1, 4), (7, 4), settings)
    assert answer["cells"] == [list(cell) for cell in route.cells]
    assert len(answer["nodes"]) == 7 and isinstance(TerrainPath(torch.tensor(answer["nodes"])), TerrainPath)
