"""`parc.traverse`: across a terrain in physics."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from parc.api.arguments import AnyTerrain, File, changed, path_of, platforms_of, terrain_of
from parc.api.whose_files import AnyCharacter, character_of
from parc.errors import PathError, SettingsError
from parc.generate.model.blended_denoising import Blend
from parc.generate.rollout.path_rollout import RolloutSettings
from parc.path import Cell, EndpointSettings, PlanSettings, TerrainPath
from parc.plan import (
    Models,
    PlainSettings,
    RouteSettings,
    SearchSettings,
    Traverse,
    TraverseSettings,
    plan_random_route,
    plan_route,
)
from parc.plan import traverse as traverse_path
from parc.run.choose_device import choose_device, within_threads
from parc.run.on_progress import OnProgress
from parc.terrain import Terrain

CrossingPreset = Literal["search", "plain", "course"]
Device = Literal["auto", "cpu", "cuda"]


def traverse(
    terrain: AnyTerrain,
    *,
    start: Cell | None = None,
    goal: Cell | None = None,
    path: TerrainPath | File | None = None,
    terrain_seed: int | None = None,
    generator: File | None = None,
    tracker: File | None = None,
    models: Models | None = None,
    character: AnyCharacter | None = None,
    preset: CrossingPreset = "search",
    effort: float | None = None,
    settings: TraverseSettings | None = None,
    seed: int = 0,
    device: Device = "auto",
    name: str = "traverse",
    on_progress: OnProgress | None = None,
    **changes: Any,
) -> Traverse:
    """Cross a terrain in physics: plan a route, generate motion along it, simulate it, choose by what the simulation managed.

    It is a search: futures that go wrong in the simulation are forgotten (docs/traverse.md). The result says whether the goal was
    reached; `simulated` is what the body did, `plan` what it was asked to do.

        result = parc.traverse("boxes", seed=3)                          # a new terrain of a kind
        result = parc.traverse("hills.png", start=(2, 2), goal=(30, 9), tries=2, threads=1)
        parc.save(result, "out/crossed")                                 # motions, a page with a replay, the facts

    start, goal: cells; without them random ones near the edges (of platforms the two landings). path: where to go, instead.
    character: a `Character`, a name or an MJCF file; that of the models' files if not given.
    models: those of `Models.load`, to cross often; else `generator` and `tracker` are files, and those in the box if not given.
    effort: price of climbs, drops and jumps in planning; 0 is the paper's cost. Other arguments are fields of `TraverseSettings`,
    as `tries`, `threads`, and `method=SearchSettings(candidates=6)`. `on_progress` is told metres along the path.
    """
    given, usual_effort = crossing_preset(preset)
    settings = ready(changed(settings or given, changes), usual_effort if effort is None else effort, reroute=path is None)
    drawn = seed if terrain_seed is None else terrain_seed
    with within_threads(settings.threads):
        ground = terrain_of(terrain, drawn)
        if path is not None:
            way = path_of(path)
        else:
            if isinstance(terrain, str) and terrain == "platforms" and start is None and goal is None:
                start, goal = platforms_of(drawn)[1:]
            way = route_over(ground, settings.route, seed, start, goal)
        if models is None:
            generator_file, tracker_file = (None if file is None else Path(file) for file in (generator, tracker))
            models = Models.load(
                character_of(character, generator_file, tracker_file), choose_device(device), generator_file, tracker_file
            )

        def tell(attempt: int, rounds: int, left: float) -> None:
            if on_progress is not None:
                on_progress(max(way.length - left, 0.0), way.length, f"try {attempt}, {left:.1f} m left")

        random = torch.Generator(models.generator.device).manual_seed(seed)
        result = traverse_path(ground, way, models, settings, random, name, tell)
    return replace(result, seed=seed)


def crossing_preset(preset: CrossingPreset) -> tuple[TraverseSettings, float]:
    """Settings of a way to cross, and the effort; course: the long run across the parkour park (paper: 32 plans, s = 0.5)."""
    if preset == "plain":
        return TraverseSettings(method=PlainSettings()), 1.0
    if preset == "course":
        rollout = RolloutSettings(blend=Blend.constant(0.5))
        far = replace(RouteSettings(), plan=replace(RouteSettings().plan, endpoint=EndpointSettings(32.0)))
        search = SearchSettings(candidates=32, seconds=600.0, rollout=rollout)
        return TraverseSettings(method=search, route=far), 0.25
    if preset != "search":
        raise SettingsError(f"the preset is '{preset}', expected search, plain or course")
    return TraverseSettings(), 1.0


def ready(settings: TraverseSettings, effort: float, reroute: bool = True) -> TraverseSettings:
    """Settings as a crossing takes them: routes priced by `effort`; `reroute` False: a path is never left for another."""
    method = settings.method
    if not method.seconds > 0:
        raise SettingsError(f"the time of a crossing is {method.seconds:g} s, expected more than 0")
    if isinstance(method, SearchSettings):
        method = replace(method, reroute=method.reroute and reroute)
    elif method.optimise is not None and method.optimise.iterations == 0:
        method = replace(method, optimise=None)
    return replace(settings, method=method, route=priced(settings.route, effort))


def priced(route: RouteSettings, effort: float) -> RouteSettings:
    """With the prices of climbs, drops and jumps times `effort`; 0: the paper's random costs and cells."""
    if effort < 0:
        raise SettingsError(f"the effort is {effort}, expected a factor of at least 0")
    prices = {name: effort * getattr(route, name) for name in ("climb", "beyond", "drop", "jump", "leap", "run_up")}
    dearer = replace(route, **prices)
    paper = replace(PlanSettings(), endpoint=route.plan.endpoint)
    return dearer if effort else replace(dearer, plan=paper, straighten=False)


def route_over(terrain: Terrain, settings: RouteSettings, seed: int, start: Cell | None, goal: Cell | None) -> TerrainPath:
    """From a cell to another, or between random ones near the edges."""
    rng = np.random.default_rng(seed)
    if start is not None and goal is not None:
        if tuple(start) == tuple(goal):
            raise PathError(f"start and goal are the same cell, {start[0]},{start[1]}")
        return plan_route(terrain, start, goal, rng, settings)
    if start is not None or goal is not None:
        raise PathError("give both start and goal, or neither")
    return plan_random_route(terrain, rng, settings)
