// How far a body has come along its path, and where it should head (parc.path.path_batch, parc.plan.path_progress).

import { clamp } from "./terrain.js";

const SPACING = 0.1;
const WINDOW = 1.5;
const NEARER_IN_ARC = 1e-4;
const LEAST = 0.45;
export const STANDING = 0.87;
const STANDING_SLACK = 0.5;
const REMAINING = 1.0;

/** A path as points every 10 cm of its length. */
export class PathCurve {
  /** nodes: waypoints [x, y, z]. */
  constructor(nodes) {
    this.nodes = nodes;
    const arc = [0];
    for (let k = 1; k < nodes.length; k++) arc.push(arc[k - 1] + Math.hypot(nodes[k][0] - nodes[k - 1][0], nodes[k][1] - nodes[k - 1][1]));
    this.arc = arc;
    this.length = arc.at(-1);
    this.points = Array.from({ length: Math.ceil(this.length / SPACING) + 1 }, (_, k) => this.onLine(Math.min(k * SPACING, this.length)));
    this.progress = 0;
  }

  onLine(at) {
    const { nodes, arc } = this;
    if (nodes.length === 1) return [...nodes[0]];
    let right = 1;
    while (right < nodes.length - 1 && arc[right] <= at) right++;
    const part = clamp((at - arc[right - 1]) / Math.max(arc[right] - arc[right - 1], 1e-9), 0, 1);
    return nodes[right - 1].map((v, k) => v + part * (nodes[right][k] - v));
  }

  get goal() {
    return this.points.at(-1);
  }

  point(index) {
    return this.points[clamp(index, 0, this.points.length - 1)];
  }

  /** The point at an arc length, clamped to the ends. */
  position(arc) {
    const at = Math.min(Math.max(arc, 0), this.length);
    const first = Math.floor(at / SPACING);
    const span = Math.max(Math.min(this.length - first * SPACING, SPACING), 1e-9);
    const part = clamp((at - first * SPACING) / span, 0, 1);
    const [a, b] = [this.point(first), this.point(first + 1)];
    return a.map((v, k) => v + part * (b[k] - v));
  }

  /** Where to head [x, y]: so many metres farther along. */
  target(lookahead = 1.4) {
    return this.position(this.progress + lookahead).slice(0, 2);
  }

  /** The arc length of the nearest point of the next 1.5 m; never back. */
  nearest(x, y, progress = this.progress) {
    const first = Math.floor(progress / SPACING);
    let best = null;
    for (let k = first; k <= first + Math.ceil(WINDOW / SPACING); k++) {
      const [a, b] = [this.point(k), this.point(k + 1)];
      const [from, to] = [k, k + 1].map((n) => Math.min(n * SPACING, this.length));
      const edge = [b[0] - a[0], b[1] - a[1]];
      const along = ((x - a[0]) * edge[0] + (y - a[1]) * edge[1]) / Math.max(edge[0] ** 2 + edge[1] ** 2, 1e-12);
      const candidate = clamp(from + clamp(along, 0, 1) * (to - from), progress, progress + WINDOW);
      const part = clamp((candidate - from) / Math.max(to - from, 1e-9), 0, 1);
      const distance2 = (a[0] + part * edge[0] - x) ** 2 + (a[1] + part * edge[1] - y) ** 2;
      const score = distance2 + NEARER_IN_ARC * (candidate - progress);
      if (best === null || score < best.score) best = { score, candidate };
    }
    return Math.min(best.candidate > progress ? best.candidate : progress, this.length);
  }

  /** Move the progress on for a root at [x, y, z]: not past a wall that it is not up to. */
  walk([x, y, z]) {
    let wall = Infinity;
    for (let k = 0; k < this.points.length; k++) {
      if (k * SPACING > this.progress && this.points[k][2] > z - LEAST) {
        wall = k * SPACING - SPACING;
        break;
      }
    }
    this.progress = Math.max(this.progress, Math.min(this.nearest(x, y), wall));
  }

  /** How far a point is from the path where it should be, m. */
  beside(x, y) {
    const [a, b] = this.position(this.progress);
    return Math.hypot(a - x, b - y);
  }

  /** Whether a root at [x, y, z] is at the goal (parc.path.goal_reached). */
  reached([x, y, z], radius = 0.5) {
    const [a, b, c] = this.goal;
    const near = Math.hypot(x - a, y - b) <= radius && Math.abs(z - c - STANDING) <= STANDING_SLACK;
    return near && this.length - this.progress <= REMAINING;
  }
}
