// A route that a body can manage: A* with a price on what is hard (parc.path.astar_search, parc.plan.least_effort_route), and
// straight lines where the ground is level (parc.path.straighten_route).

import { navigationGraph } from "./graph.js";

/** parc.plan.least_effort_route.RouteSettings with the costs of parc.plan.online_steering. */
export const ROUTE = {
  wXy: 1, wZ: 1, random: 0, climb: 12, easyClimb: 0.3, reach: 1.85, beyond: 40, drop: 4, easyDrop: 0.6, jump: 14, askew: 4, block: 6,
  clearance: 0.3, wall: 0.4,
};
const LEVEL = 0.2;
const EVEN = Math.fround(0.1);
const BESIDE = 0.25;

/** Waypoints [x, y, z] from here to goal, or null where no way leads there. `blocked`: factor of cells to avoid, by node. */
export function planPath(terrain, here, goal, blocked = new Map(), settings = ROUTE) {
  const start = terrain.nearestCell(...here);
  const end = terrain.nearestCell(...goal);
  const dear = besideSteps(terrain, settings);
  for (const [node, factor] of blocked) dear.set(node, (dear.get(node) ?? 0) + factor);
  const route = planRoute(terrain, start, end, dear, settings);
  if (route === null) return null;
  const nodes = waypoints(terrain, route);
  nodes.at(-1)[0] = goal[0];
  nodes.at(-1)[1] = goal[1];
  return nodes;
}

/** Cells from start to goal, straight at climbs and over level ground; null where there is no way. */
export function planRoute(terrain, start, goal, dear = new Map(), settings = ROUTE) {
  const graph = navigationGraph(terrain);
  const route = cheapestRoute(graph, edgeCosts(graph, dear, settings), start, goal, settings);
  return route === null ? null : straightened(terrain, straightAtClimbs(terrain, route, settings.easyClimb), dear);
}

/** Cost of every edge: distance and height squared, and effort. */
export function edgeCosts(graph, dear, s) {
  const { rows, columns, heights, first, targets, isJump } = graph;
  const costs = new Float64Array(targets.length);
  for (let node = 0; node < rows * columns; node++) {
    const i = Math.floor(node / columns);
    const j = node % columns;
    for (let e = first[node]; e < first[node + 1]; e++) {
      const di = Math.floor(targets[e] / columns) - i;
      const dj = (targets[e] % columns) - j;
      const rise = heights[targets[e]] - heights[node];
      let effort = s.climb * Math.max(rise - s.easyClimb, 0) + s.drop * Math.max(-rise - s.easyDrop, 0);
      effort += s.beyond * (rise > s.reach);
      effort += s.askew * (di !== 0 && dj !== 0 && !isJump[e] && rise > s.easyClimb);
      const drawn = s.wXy * (graph.cell ** 2 * (di * di + dj * dj)) + s.wZ * rise ** 2 + s.random;
      costs[e] = drawn + effort + s.jump * isJump[e] + s.block * (dear.get(targets[e]) ?? 0);
    }
  }
  return costs;
}

/** A* with the bound of parc.path.astar_search: {cells, isJump, cost} or null. */
export function cheapestRoute(graph, costs, start, goal, s) {
  const { rows, columns, first, targets } = graph;
  const [source, sink] = [start, goal].map(([i, j]) => i * columns + j);
  const longest = longestEdge(graph);
  const estimate = (node) => {
    const a = Math.abs(Math.floor(node / columns) - goal[0]);
    const b = Math.abs((node % columns) - goal[1]);
    return s.wXy * graph.cell ** 2 * (a + b) + s.random * Math.ceil(Math.max(a, b) / longest);
  };
  const reached = new Float64Array(rows * columns).fill(Infinity);
  const parent = new Int32Array(rows * columns).fill(-1);
  const through = new Int32Array(rows * columns).fill(-1);
  const final = new Uint8Array(rows * columns);
  const queue = new Queue();
  reached[source] = 0;
  queue.push(estimate(source), source);
  while (queue.size) {
    const node = queue.pop();
    if (final[node]) continue;
    final[node] = 1;
    if (node === sink) break;
    for (let e = first[node]; e < first[node + 1]; e++) {
      const cost = reached[node] + costs[e];
      if (cost < reached[targets[e]]) {
        reached[targets[e]] = cost;
        parent[targets[e]] = node;
        through[targets[e]] = e;
        queue.push(cost + estimate(targets[e]), targets[e]);
      }
    }
  }
  if (!final[sink]) return null;
  const nodes = [sink];
  while (parent[nodes.at(-1)] >= 0) nodes.push(parent[nodes.at(-1)]);
  nodes.reverse();
  return {
    cells: nodes.map((n) => [Math.floor(n / columns), n % columns]),
    isJump: nodes.slice(1).map((n) => graph.isJump[through[n]]),
    cost: reached[sink],
  };
}

function longestEdge(graph) {
  let most = 1;
  for (let node = 0; node < graph.first.length - 1; node++) {
    for (let e = graph.first[node]; e < graph.first[node + 1]; e++) {
      const di = Math.floor(graph.targets[e] / graph.columns) - Math.floor(node / graph.columns);
      const dj = (graph.targets[e] % graph.columns) - (node % graph.columns);
      most = Math.max(most, di * di + dj * dj);
    }
  }
  return Math.max(1, Math.floor(Math.sqrt(graph.cell ** 2 * most) / graph.cell + 1e-6));
}

/** A binary heap of nodes, by value and then by number. */
class Queue {
  values = [];
  nodes = [];

  get size() {
    return this.nodes.length;
  }

  before(a, b) {
    return this.values[a] < this.values[b] || (this.values[a] === this.values[b] && this.nodes[a] < this.nodes[b]);
  }

  swap(a, b) {
    [this.values[a], this.values[b]] = [this.values[b], this.values[a]];
    [this.nodes[a], this.nodes[b]] = [this.nodes[b], this.nodes[a]];
  }

  push(value, node) {
    let at = this.values.push(value) - 1;
    this.nodes.push(node);
    for (let up = (at - 1) >> 1; at > 0 && this.before(at, up); at = up, up = (at - 1) >> 1) this.swap(at, up);
  }

  pop() {
    const top = this.nodes[0];
    this.swap(0, this.size - 1);
    this.values.pop();
    this.nodes.pop();
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < this.size && this.before(child, least)) least = child;
      if (least === at) return top;
      this.swap(at, least);
      at = least;
    }
  }
}

/** `clearance` for each cell that has a neighbour higher or lower by more than a wall. */
function besideSteps(terrain, settings) {
  const dear = new Map();
  const wall = Math.fround(settings.wall);
  for (let i = 0; i < terrain.rows; i++) {
    for (let j = 0; j < terrain.columns; j++) {
      let most = 0;
      for (let a = -1; a <= 1; a++) for (let b = -1; b <= 1; b++) most = Math.max(most, Math.abs(terrain.at(i + a, j + b) - terrain.at(i, j)));
      if (Math.fround(most) > wall) dear.set(i * terrain.columns + j, settings.clearance / settings.block);
    }
  }
  return dear;
}

/** A cell more before and after each climb, in its direction, where that is level with it: people climb facing the wall. */
export function straightAtClimbs(terrain, route, easy) {
  const given = route.cells;
  const cells = [given[0]];
  const isJump = [];
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];
  const level = (cell, other) =>
    cell[0] >= 0 && cell[1] >= 0 && cell[0] < terrain.rows && cell[1] < terrain.columns && Math.abs(terrain.at(...cell) - terrain.at(...other)) <= LEVEL;
  for (let k = 0; k < given.length - 1; k++) {
    const [here, there] = [given[k], given[k + 1]];
    const jump = route.isJump[k];
    const step = [there[0] - here[0], there[1] - here[1]];
    const climbs = !jump && terrain.at(...there) - terrain.at(...here) > easy;
    const before = [here[0] - step[0], here[1] - step[1]];
    const after = [there[0] + step[0], there[1] + step[1]];
    if (climbs && k && !route.isJump[k - 1] && !same(given[k - 1], before) && level(before, here)) {
      cells.splice(-1, 1, before, here);
      isJump.push(false);
    }
    cells.push(there);
    isJump.push(jump);
    if (climbs && k + 2 < given.length && !route.isJump[k + 1] && !same(given[k + 2], after) && level(after, there)) {
      cells.push(after);
      isJump.push(false);
    }
  }
  return { ...route, cells, isJump };
}

/** As few cells as straight lines over level ground allow; jumps and steps as they were. */
export function straightened(terrain, route, avoid) {
  const { cells } = route;
  const kept = keptCells(terrain, route, avoid);
  const chosen = [0];
  const isJump = [];
  const last = cells.length - 1;
  for (let here = 0; here < last; here = chosen.at(-1)) {
    let there = here + 1;
    if (!kept[here] || !kept[there]) {
      let end = here + 1;
      while (!kept[end]) end++;
      for (let k = end; k > here + 1; k--) {
        if (isLevel(terrain, avoid, cells[here], cells[k])) {
          there = k;
          break;
        }
      }
    }
    chosen.push(there);
    isJump.push(there === here + 1 ? route.isJump[here] : false);
  }
  return { ...route, cells: chosen.map((k) => cells[k]), isJump };
}

function heightOrNone(terrain, avoid, [i, j]) {
  return avoid.has(i * terrain.columns + j) ? NaN : terrain.at(i, j);
}

function keptCells(terrain, route, avoid) {
  const kept = new Array(route.cells.length).fill(false);
  kept[0] = kept[kept.length - 1] = true;
  route.isJump.forEach((jump, k) => {
    const change = Math.abs(Math.fround(heightOrNone(terrain, avoid, route.cells[k + 1]) - heightOrNone(terrain, avoid, route.cells[k])));
    if (jump || !(change <= EVEN)) for (let near = Math.max(k - 1, 0); near < Math.min(k + 3, kept.length); near++) kept[near] = true;
  });
  return kept;
}

/** Whether the ground under the line from cell to cell, and beside it, is as high as where it begins. */
function isLevel(terrain, avoid, here, there) {
  const [di, dj] = [there[0] - here[0], there[1] - here[1]];
  const length = Math.hypot(di, dj);
  const along = [di / Math.max(length, 1e-9), dj / Math.max(length, 1e-9)];
  const across = [(-along[1] * BESIDE) / terrain.cell, (along[0] * BESIDE) / terrain.cell];
  const count = Math.max(2, roundEven(length / 0.1) + 1);
  const ground = heightOrNone(terrain, avoid, here);
  for (let n = 0; n < count; n++) {
    const t = n === count - 1 ? length : n * (length / (count - 1));
    for (const side of [0, 1, -1]) {
      const i = Math.floor(here[0] + t * along[0] + side * across[0] + 0.5);
      const j = Math.floor(here[1] + t * along[1] + side * across[1] + 0.5);
      const inside = i >= 0 && j >= 0 && i < terrain.rows && j < terrain.columns;
      if (!inside) {
        if (side === 0) return false;
        continue;
      }
      if (!(Math.abs(Math.fround(heightOrNone(terrain, avoid, [i, j]) - ground)) <= EVEN)) return false;
    }
  }
  return true;
}

function roundEven(x) {
  const whole = Math.round(x);
  return Math.abs(x % 1) === 0.5 && whole % 2 ? whole - 1 : whole;
}

/** Cell centres at terrain height; jumps and straight lines are filled with waypoints about one cell apart. */
export function waypoints(terrain, route) {
  const corners = route.cells.map(([i, j]) => [...terrain.centreOf(i, j), terrain.at(i, j)]);
  const nodes = [corners[0]];
  for (let k = 0; k + 1 < corners.length; k++) {
    const [a, b] = [corners[k], corners[k + 1]];
    const parts = Math.max(1, roundEven(Math.hypot(b[0] - a[0], b[1] - a[1]) / terrain.cell));
    for (let n = 1; n < parts; n++) nodes.push(a.map((v, m) => v + (n / parts) * (b[m] - v)));
    nodes.push([...b]);
  }
  return nodes;
}
