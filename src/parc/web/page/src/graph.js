// The navigation graph of a terrain (parc.path.navigation_graph): steps to the 8 neighbours, and jumps from cliff to cliff.

export const GRAPH = { maxStep: 2.1, cornerStep: 0.2, cliffDrop: 0.6, jumpDistance: 3.0, jumpUp: 0.5, jumpDown: 1.0, clearance: 0.5 };
const ROUNDING = 1e-6;
const crossed = new Map();

/** Edges as compressed rows: first[n] .. first[n + 1] are those out of node n, targets ascending. */
export function navigationGraph(terrain, settings = GRAPH) {
  const { rows, columns } = terrain;
  const heights = Float64Array.from(terrain.heights);
  const cliff = cliffs(heights, rows, columns, settings.cliffDrop);
  const offsets = jumpOffsets(settings.jumpDistance / terrain.cell, rows, columns);
  const first = new Int32Array(rows * columns + 1);
  const targets = [];
  const isJump = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const edges = [...steps(heights, rows, columns, i, j, settings)];
      if (cliff[i * columns + j]) edges.push(...jumps(heights, cliff, rows, columns, i, j, offsets, settings));
      edges.sort((a, b) => a[0] - b[0]);
      for (const [target, jump] of edges) {
        targets.push(target);
        isJump.push(jump);
      }
      first[i * columns + j + 1] = targets.length;
    }
  }
  return { rows, columns, cell: terrain.cell, heights, first, targets: Int32Array.from(targets), isJump };
}

function cliffs(heights, rows, columns, drop) {
  const found = new Uint8Array(heights.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      let lowest = Infinity;
      for (let a = Math.max(i - 1, 0); a <= Math.min(i + 1, rows - 1); a++) {
        for (let b = Math.max(j - 1, 0); b <= Math.min(j + 1, columns - 1); b++) lowest = Math.min(lowest, heights[a * columns + b]);
      }
      found[i * columns + j] = heights[i * columns + j] - lowest > drop + ROUNDING ? 1 : 0;
    }
  }
  return found;
}

function* steps(heights, rows, columns, i, j, settings) {
  const here = heights[i * columns + j];
  for (let di = -1; di <= 1; di++) {
    for (let dj = -1; dj <= 1; dj++) {
      const [a, b] = [i + di, j + dj];
      if ((!di && !dj) || a < 0 || b < 0 || a >= rows || b >= columns) continue;
      const there = heights[a * columns + b];
      if (Math.abs(there - here) > settings.maxStep + ROUNDING) continue;
      if (di && dj) {
        const corner = Math.max(heights[a * columns + j], heights[i * columns + b]);
        if (corner > Math.max(here, there) + settings.cornerStep + ROUNDING) continue;
      }
      yield [a * columns + b, false];
    }
  }
}

/** There must be a gap to jump over, and the line above it must be clear. */
function* jumps(heights, cliff, rows, columns, i, j, offsets, settings) {
  const ground = heights[i * columns + j];
  for (const [di, dj] of offsets) {
    const [a, b] = [i + di, j + dj];
    if (a < 0 || b < 0 || a >= rows || b >= columns || !cliff[a * columns + b]) continue;
    const rise = heights[a * columns + b] - ground;
    if (rise > settings.jumpUp + ROUNDING || rise < -settings.jumpDown - ROUNDING) continue;
    let pit = Infinity;
    let clear = true;
    for (const [ci, cj, enter, leave, through] of crossedCells(di, dj)) {
      const between = heights[(i + ci) * columns + j + cj];
      if (through) pit = Math.min(pit, between);
      clear &&= between <= ground + settings.clearance + Math.min(rise * enter, rise * leave) + ROUNDING;
    }
    if (clear && pit < Math.min(ground, ground + rise) - settings.cliffDrop - ROUNDING) yield [a * columns + b, true];
  }
}

function jumpOffsets(radius, rows, columns) {
  const reach = [rows, columns].map((n) => Math.min(Math.floor(radius + ROUNDING), n - 1));
  const offsets = [];
  for (let di = -reach[0]; di <= reach[0]; di++) {
    for (let dj = -reach[1]; dj <= reach[1]; dj++) {
      if (Math.max(Math.abs(di), Math.abs(dj)) > 1 && di * di + dj * dj <= radius * radius + ROUNDING) offsets.push([di, dj]);
    }
  }
  return offsets;
}

/** Cells that the line from the centre of (0, 0) to that of (di, dj) meets, ends left out: [a, b, enters, leaves, through].
 *
 * Fractions are compared as products of whole numbers, so that a touched corner is told apart from a near miss.
 */
export function crossedCells(di, dj) {
  const key = `${di},${dj}`;
  if (crossed.has(key)) return crossed.get(key);
  const found = [];
  for (let a = Math.min(di, 0); a <= Math.max(di, 0); a++) {
    for (let b = Math.min(dj, 0); b <= Math.max(dj, 0); b++) {
      if ((!a && !b) || (a === di && b === dj)) continue;
      let enter = [0, 1];
      let leave = [1, 1];
      for (const [delta, centre] of [[di, a], [dj, b]]) {
        if (!delta) continue;
        const sign = Math.sign(delta);
        const low = [sign * (2 * centre - sign), 2 * Math.abs(delta)];
        const high = [sign * (2 * centre + sign), 2 * Math.abs(delta)];
        if (less(enter, low)) enter = low;
        if (less(high, leave)) leave = high;
      }
      if (!less(leave, enter)) found.push([a, b, enter[0] / enter[1], leave[0] / leave[1], less(enter, leave)]);
    }
  }
  crossed.set(key, found);
  return found;
}

function less(a, b) {
  return a[0] * b[1] < b[0] * a[1];
}
