// The ground: a grid of columns (parc.terrain). Cell (i, j) is centred at low + cell (i, j); heights are kept to the millimetre,
// so that a shared link gives the very same ground.

import { Random } from "./random.js";

export const CELL = 0.4;
export const LOWEST = -6;
export const HIGHEST = 6;
export const MOST_CELLS = 64;

export class Terrain {
  /** heights: Float32Array of rows * columns, row by row. */
  constructor(rows, columns, heights, low = [0, 0], cell = CELL) {
    this.rows = rows;
    this.columns = columns;
    this.low = low;
    this.cell = cell;
    this.heights = Float32Array.from(heights ?? new Float32Array(rows * columns), millimetres);
  }

  static flat(rows, columns, height = 0) {
    return new Terrain(rows, columns, new Float32Array(rows * columns).fill(height));
  }

  copy() {
    return new Terrain(this.rows, this.columns, this.heights, [...this.low], this.cell);
  }

  /** The cell that holds a point; may lie off the grid. */
  cellOf(x, y) {
    return [Math.floor((x - this.low[0]) / this.cell + 0.5), Math.floor((y - this.low[1]) / this.cell + 0.5)];
  }

  /** The cell under a point; off the grid, the nearest. */
  nearestCell(x, y) {
    const [i, j] = this.cellOf(x, y);
    return [clamp(i, 0, this.rows - 1), clamp(j, 0, this.columns - 1)];
  }

  contains(x, y) {
    const [i, j] = this.cellOf(x, y);
    return i >= 0 && j >= 0 && i < this.rows && j < this.columns;
  }

  /** Height of a cell; off the grid, that of the nearest. */
  at(i, j) {
    return this.heights[clamp(i, 0, this.rows - 1) * this.columns + clamp(j, 0, this.columns - 1)];
  }

  set(i, j, height) {
    this.heights[i * this.columns + j] = millimetres(clamp(height, LOWEST, HIGHEST));
  }

  heightAt(x, y) {
    return this.at(...this.cellOf(x, y));
  }

  centreOf(i, j) {
    return [this.low[0] + this.cell * i, this.low[1] + this.cell * j];
  }

  /** The least and the greatest x and y of the map. */
  get extent() {
    const half = 0.5 * this.cell;
    const [x, y] = this.low;
    return [x - half, y - half, x + this.cell * this.rows - half, y + this.cell * this.columns - half];
  }

  /** Raise the cells within `radius` cells of (i, j) by `by` m; the cells that changed. */
  brush(i, j, radius, by) {
    const changed = [];
    for (let a = Math.ceil(i - radius); a <= i + radius; a++) {
      for (let b = Math.ceil(j - radius); b <= j + radius; b++) {
        if (a < 0 || b < 0 || a >= this.rows || b >= this.columns || Math.hypot(a - i, b - j) > radius + 0.5) continue;
        this.set(a, b, this.at(a, b) + by);
        changed.push([a, b]);
      }
    }
    return changed;
  }
}

export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function millimetres(height) {
  return Math.round(height * 1000) / 1000;
}

/** The kinds of ground that the page draws. */
export const KINDS = {
  flat: { label: "Level", make: () => Terrain.flat(32, 32) },
  boxes: { label: "Boxes", make: (random) => randomBoxes(random) },
  walks: { label: "Walks", make: (random) => randomWalks(random) },
  platforms: { label: "Platforms", make: (random) => platformChain(random).terrain },
};

/** Ground of a kind; the same seed gives the same ground. */
export function makeTerrain(kind, seed) {
  return KINDS[kind].make(new Random(seed));
}

/** parc.terrain.procedural_terrain.random_boxes. */
export function randomBoxes(random, { rows = 24, columns = 24, boxes = 14, side = [4, 9], height = [-0.4, 0.9] } = {}) {
  const heights = new Float32Array(rows * columns);
  for (let box = 0; box < boxes; box++) {
    const centre = [random.integer(0, rows), random.integer(0, columns)];
    const sides = [random.integer(side[0], side[1] + 1), random.integer(side[0], side[1] + 1)];
    const low = [0, 1].map((k) => Math.max(centre[k] - Math.floor(sides[k] / 2), 0));
    const high = [0, 1].map((k) => centre[k] - Math.floor(sides[k] / 2) + sides[k]);
    const top = random.uniform(...height);
    for (let i = low[0]; i < Math.min(high[0], rows); i++) {
      for (let j = low[1]; j < Math.min(high[1], columns); j++) heights[i * columns + j] = top;
    }
  }
  return new Terrain(rows, columns, highestOfBlocks(heights, rows, columns));
}

/** Every 2 x 2 window (stride 2) raised to its highest cell. */
function highestOfBlocks(heights, rows, columns) {
  const result = new Float32Array(heights.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      let most = -Infinity;
      for (const a of [i & ~1, i | 1]) {
        for (const b of [j & ~1, j | 1]) most = Math.max(most, heights[Math.min(a, rows - 1) * columns + Math.min(b, columns - 1)]);
      }
      result[i * columns + j] = most;
    }
  }
  return result;
}

/** parc.terrain.procedural_terrain.random_walks. */
export function randomWalks(random, { rows = 32, columns = 32, walks = 10, steps = 1000, height = [-0.4, 0.7], floor = -0.8 } = {}) {
  const heights = new Float32Array(rows * columns).fill(floor);
  const [time, speed, turn] = [1 / 30, 1, 7 / 30];
  for (let walk = 0; walk < walks; walk++) {
    let x = random.uniform(0, CELL * rows);
    let y = random.uniform(0, CELL * columns);
    const sideways = random.normal();
    let heading = random.uniform(0, 2 * Math.PI);
    const cells = [];
    for (let step = 0; step < steps; step++) {
      heading += random.normal(0, turn);
      x += (speed * Math.cos(heading) - sideways * Math.sin(heading)) * time;
      y += (speed * Math.sin(heading) + sideways * Math.cos(heading)) * time;
      cells.push(clamp(Math.floor(x / CELL), 0, rows - 1) * columns + clamp(Math.floor(y / CELL), 0, columns - 1));
    }
    const top = random.uniform(...height);
    for (const cell of cells) heights[cell] = top;
  }
  const highest = new Float32Array(heights.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      let most = -Infinity;
      for (let a = i - 1; a <= i + 1; a++) {
        for (let b = j - 1; b <= j + 1; b++) most = Math.max(most, heights[clamp(a, 0, rows - 1) * columns + clamp(b, 0, columns - 1)]);
      }
      highest[i * columns + j] = most;
    }
  }
  return new Terrain(rows, columns, highest);
}

/** parc.terrain.random_platforms.platform_chain: towers with gaps between them over a floor too deep to climb out of. */
export function platformChain(random, settings = {}) {
  const s = {
    count: 6, gaps: [1, 2], width: [3, 5], runUp: [4, 7], rise: [-0.4, 0.3], depth: [2.2, 2.6], turn: 0.25, landing: 5, ...settings,
  };
  let towers = null;
  while (towers === null) towers = layout(random, s);
  const tops = [0];
  for (let k = 0; k < s.count; k++) tops.push(tops[k] + random.uniform(...s.rise));
  const floor = Math.min(...tops) - random.uniform(...s.depth);
  const corner = [0, 1].map((k) => Math.min(...towers.map((t) => t.low[k])) - 2);
  const size = [0, 1].map((k) => Math.max(...towers.map((t) => t.high[k])) + 2 - corner[k]);
  const heights = new Float32Array(size[0] * size[1]).fill(floor);
  towers.forEach((tower, n) => {
    for (let i = tower.low[0]; i < tower.high[0]; i++) {
      for (let j = tower.low[1]; j < tower.high[1]; j++) heights[(i - corner[0]) * size[1] + j - corner[1]] = tops[n];
    }
  });
  const middle = (t) => [0, 1].map((k) => Math.floor((t.low[k] + t.high[k]) / 2) - corner[k]);
  return { terrain: new Terrain(size[0], size[1], heights), start: middle(towers[0]), goal: middle(towers.at(-1)) };
}

/** Towers in order; null where the chain runs into itself or grows beyond what a page holds. */
function layout(random, s) {
  const towers = [{ low: [0, 0], high: [s.landing, s.landing] }];
  let axis = random.integer(0, 2);
  let sign = random.random() < 0.5 ? 1 : -1;
  for (let k = 0; k < s.count; k++) {
    if (random.random() < s.turn) {
      axis = 1 - axis;
      sign = random.random() < 0.5 ? 1 : -1;
    }
    const gap = random.integer(s.gaps[0], s.gaps[1] + 1);
    const last = k === s.count - 1;
    const along = last ? s.landing : random.integer(s.runUp[0], s.runUp[1] + 1);
    const across = last ? s.landing : random.integer(s.width[0], s.width[1] + 1);
    const before = towers.at(-1);
    const near = sign > 0 ? before.high[axis] + gap : before.low[axis] - gap - along;
    const side = random.integer(before.low[1 - axis] - across + 1, before.high[1 - axis]);
    const [low, size] = axis === 0 ? [[near, side], [along, across]] : [[side, near], [across, along]];
    const tower = { low, high: [low[0] + size[0], low[1] + size[1]] };
    const near2 = (other) => [0, 1].every((m) => tower.low[m] - other.high[m] < gap && other.low[m] - tower.high[m] < gap);
    if (towers.slice(0, -1).some(near2)) return null;
    towers.push(tower);
  }
  const span = (k) => Math.max(...towers.map((t) => t.high[k])) - Math.min(...towers.map((t) => t.low[k])) + 4;
  return span(0) > MOST_CELLS || span(1) > MOST_CELLS ? null : towers;
}

/** Where a character begins: the cell nearest to the middle whose surroundings are the most level; its centre and height. */
export function startPlace(terrain, kind) {
  const middle = kind === "platforms" ? null : [(terrain.rows - 1) / 2, (terrain.columns - 1) / 2];
  let best = null;
  for (let i = 2; i < terrain.rows - 2; i++) {
    for (let j = 2; j < terrain.columns - 2; j++) {
      let rough = 0;
      for (let a = -2; a <= 2; a++) for (let b = -2; b <= 2; b++) rough = Math.max(rough, Math.abs(terrain.at(i + a, j + b) - terrain.at(i, j)));
      const low = middle ? 0 : 2 * Math.max(0, 0.1 - terrain.at(i, j));
      const far = middle ? 0.06 * Math.hypot(i - middle[0], j - middle[1]) : 0.02 * (i + j);
      const price = rough + low + far;
      if (best === null || price < best.price - 1e-9) best = { price, cell: [i, j] };
    }
  }
  return best === null ? [Math.floor(terrain.rows / 2), Math.floor(terrain.columns / 2)] : best.cell;
}
