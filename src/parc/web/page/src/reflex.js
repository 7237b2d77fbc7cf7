// The loop of parc.plan.reflex for one character: plan from the body's own last two frames every few control steps, follow with
// the tracker, look, plan again. What a person wants is a goal, a direction or to stay (parc.plan.online_steering).

import { Random } from "./random.js";
import { planPath, ROUTE } from "./route.js";
import { PathCurve, STANDING } from "./progress.js";
import { clamp } from "./terrain.js";

const FALL = { height: 0.5, upright: 0.26 }; // low and tilted, or on the head
const LIE = 30; // control steps that a fallen body lies before it is put back on its feet
const OFF_PATH = 0.9; // m beside the path at which a new one is planned
const STUCK = 75; // control steps without headway after which another way is tried
const HEADWAY = 0.1;
const BLOCKED_AHEAD = 1.2;
const KEY_REACH = 3.5;
const STILL = 0.25; // m/s of all bodies' mean below which a character that stays has come to rest
const ASTRAY = 0.22; // m from its plan at which it plans again though it stays

export class Reflex {
  /** on: functions {way, plan, event} told of changes; all may be left out. */
  constructor(simulation, networks, body, on = {}) {
    Object.assign(this, { simulation, networks, body, on });
    this.held = new Float32Array(body.motors);
    this.past = { qpos: new Float32Array(2 * body.nq), contacts: new Float32Array(2 * body.names.length) };
    this.noise = new Float32Array(body.noise[0] * body.noise[1]);
    this.planFrames = 1 + body.windows * body.frames;
    this.plan = { qpos: new Float32Array(this.planFrames * body.nq), contacts: new Float32Array(this.planFrames * body.names.length) };
    this.head = body.names.indexOf("head");
    this.spent = { plan: 0, plans: 0, act: 0, step: 0, steps: 0 };
    this.counts = { falls: 0, arrivals: 0, pushes: 0 };
  }

  /** New ground with the character at the beginning: the centre of cell `start`, turned by `heading`. */
  begin(terrain, start, seed, heading = 0) {
    this.setTerrain(terrain);
    this.random = new Random(seed);
    this.start = { cell: start, heading, seed };
    this.step = 0;
    this.keepsPath = false;
    const [x, y] = terrain.centreOf(...start);
    this.stand(x, y, heading);
    this.stay();
  }

  /** Other ground under the character where it is; what was planned on the old one is void. */
  setTerrain(terrain) {
    this.terrain = terrain;
    this.simulation.setTerrain(terrain);
    this.networks.setTerrain(terrain);
    if (this.wish === "goal") this.toGoal(this.goal, false);
    this.resting = false;
  }

  /** Put on its feet at a place, with the standing state that body.json holds. */
  stand(x, y, heading) {
    const { stand, nq } = this.body;
    const ground = this.terrain.heightAt(x, y);
    const turned = [stand.qpos_before, stand.qpos].map((qpos) => turnedState(qpos, heading, [x, y, ground]));
    const qvel = Float64Array.from(stand.qvel);
    [qvel[0], qvel[1]] = turn(qvel[0], qvel[1], heading);
    this.simulation.reset(turned[1], qvel);
    this.simulation.contacts.set(stand.contacts);
    this.past.qpos.set(turned[0]);
    this.past.qpos.set(turned[1], nq);
    this.past.contacts.set(stand.contacts_before);
    this.past.contacts.set(stand.contacts, this.body.names.length);
    this.held.set(stand.held);
    this.lying = 0;
    this.resting = false;
    this.frame = 0;
    this.turn = 0;
    this.plan.qpos.fill(0);
    for (let n = 0; n < this.planFrames; n++) {
      this.plan.qpos.set(turned[1], n * nq);
      this.plan.contacts.set(stand.contacts, n * this.body.names.length);
    }
  }

  get place() {
    return Array.from(this.simulation.qpos.subarray(0, 3));
  }

  get status() {
    if (this.lying) return "fallen";
    return this.wish === "stay" ? "stands" : this.wish === "goal" ? "goes" : "driven";
  }

  stay() {
    this.wish = "stay";
    this.curve = null;
    this.resting = false;
    this.on.way?.(null, false);
  }

  /** Find a way to a goal [x, y]; false, and nothing changes, where there is none. */
  toGoal(goal, isNew = true) {
    if (isNew) [this.blocked, this.keepsPath] = [new Map(), false];
    const nodes = planPath(this.terrain, this.place.slice(0, 2), goal, this.blocked, ROUTE);
    if (nodes === null) return false;
    this.wish = "goal";
    this.goal = [...goal];
    this.resting = false;
    this.setCurve(nodes, true);
    return true;
  }

  /** Along waypoints [x, y, z] that were planned elsewhere, and along no other way. */
  along(nodes) {
    this.keepsPath = true;
    this.wish = "goal";
    this.blocked = new Map();
    this.goal = nodes.at(-1).slice(0, 2);
    this.resting = false;
    this.setCurve(nodes, true);
  }

  setCurve(nodes, isGoal) {
    this.curve = new PathCurve(nodes);
    this.curve.walk(this.place);
    this.waited = 0;
    this.mark = this.curve.progress;
    this.on.way?.(nodes, isGoal);
  }

  /** Go this way [x, y] until told otherwise; zero: stay. */
  drive(direction) {
    const length = Math.hypot(...direction);
    if (length < 1e-3) {
      if (this.wish === "drive") this.stay();
      return;
    }
    if (this.wish !== "drive") this.on.way?.(null, false);
    this.wish = "drive";
    this.curve = null;
    this.resting = false;
    this.direction = direction.map((v) => v / length);
  }

  /** A sudden change of the velocity, m/s. */
  push(velocity) {
    const { qvel } = this.simulation;
    for (let k = 0; k < 3; k++) qvel[k] += velocity[k];
    this.counts.pushes++;
    this.resting = false;
  }

  /** One control step, 1/30 s; a plan before it where one is due. */
  async control() {
    const { simulation, body, past } = this;
    if (this.turn === 0 && !this.resting && !this.lying) await this.write();
    this.turn = (this.turn + 1) % body.every;
    const from = performance.now();
    const { targets, held } = await this.act();
    const acted = performance.now();
    this.held.set(held);
    const { nq, names } = body;
    past.qpos.copyWithin(0, nq);
    past.contacts.copyWithin(0, names.length);
    simulation.step(targets);
    past.qpos.set(simulation.qpos, nq);
    past.contacts.set(simulation.contacts, names.length);
    this.frame++;
    this.step++;
    this.spent.act += acted - from;
    this.spent.step += performance.now() - acted;
    this.spent.steps++;
    this.look();
  }

  act() {
    const { nq, looks, names } = this.body;
    const bodies = names.length;
    const qpos = new Float32Array(looks.length * nq);
    const contacts = new Float32Array(looks.length * bodies);
    looks.forEach((look, n) => {
      const row = Math.min(this.frame + look, this.planFrames - 1);
      qpos.set(this.plan.qpos.subarray(row * nq, (row + 1) * nq), n * nq);
      contacts.set(this.plan.contacts.subarray(row * bodies, (row + 1) * bodies), n * bodies);
    });
    const { simulation } = this;
    const state = { qpos: simulation.qpos, qvel: simulation.qvel, contacts: simulation.contacts.slice(), held: this.held.slice() };
    return this.networks.act(state, qpos, contacts);
  }

  /** A plan from the body's own last two frames: frame 0 is the present, then windows each after the one before. */
  async write() {
    const from = performance.now();
    const { body, plan, past } = this;
    const { nq, frames } = body;
    const bodies = body.names.length;
    let curve = this.curve;
    if (this.wish === "drive") {
      const [x, y, z] = this.place;
      const [x0, y0, x1, y1] = this.terrain.extent;
      const end = [clamp(x + KEY_REACH * this.direction[0], x0 + 0.3, x1 - 0.3), clamp(y + KEY_REACH * this.direction[1], y0 + 0.3, y1 - 0.3)];
      curve = new PathCurve([[x, y, z - STANDING], [...end, this.terrain.heightAt(...end)]]);
    }
    const here = this.place;
    let progress = curve?.progress ?? 0;
    let [lastQpos, lastContacts] = [past.qpos.slice(), past.contacts.slice()];
    plan.qpos.set(lastQpos.subarray(nq), 0);
    plan.contacts.set(lastContacts.subarray(bodies), 0);
    for (let w = 0; w < body.windows; w++) {
      const ahead = curve ? curve.position(progress + body.lookahead) : here;
      const next = await this.networks.window(lastQpos, lastContacts, ahead.slice(0, 2), this.random.fillNormal(this.noise));
      plan.qpos.set(next.qpos, (1 + w * frames) * nq);
      plan.contacts.set(next.contacts, (1 + w * frames) * bodies);
      lastQpos = next.qpos.slice((frames - 2) * nq);
      lastContacts = next.contacts.slice((frames - 2) * bodies);
      if (curve) progress = curve.nearest(lastQpos[nq], lastQpos[nq + 1], progress);
    }
    this.frame = 0;
    this.spent.plan += performance.now() - from;
    this.spent.plans++;
    this.on.plan?.(plan, this.planFrames);
  }

  /** After a control step: how far it has come, whether it fell, arrived or is stuck. */
  look() {
    const place = this.place;
    if (this.lying) {
      if (++this.lying > LIE || this.simulation.diverged) this.putBack();
      return;
    }
    if (this.simulation.diverged || this.isDown(place)) {
      this.counts.falls++;
      this.lying = 1;
      this.fellAt = place;
      this.on.event?.("fell");
      return;
    }
    if (this.wish === "goal") this.lookAtGoal(place);
    else if (this.wish === "stay") this.lookAtRest();
  }

  lookAtGoal(place) {
    const { curve } = this;
    curve.walk(place);
    if (curve.reached(place)) {
      this.counts.arrivals++;
      this.on.event?.("arrived");
      this.stay();
      return;
    }
    if (curve.progress > this.mark + HEADWAY) [this.mark, this.waited] = [curve.progress, 0];
    const stuck = ++this.waited > STUCK;
    if (stuck) this.block();
    if (this.keepsPath) return;
    const below = Math.abs(curve.position(curve.progress)[2] + STANDING - place[2]);
    if (stuck || Math.max(curve.beside(place[0], place[1]), below - 1) > OFF_PATH) {
      if (!this.toGoal(this.goal, false)) this.waited = 0;
    }
  }

  /** Who stays and has come to rest holds its last pose, until something moves it. */
  lookAtRest() {
    const { nq } = this.body;
    const now = this.simulation.qpos;
    const row = Math.min(this.frame, this.planFrames - 1) * nq;
    const gap = Math.hypot(...[0, 1, 2].map((k) => this.plan.qpos[row + k] - now[k]));
    if (this.resting) {
      if (gap > ASTRAY) [this.resting, this.turn] = [false, 0];
      return;
    }
    const speed = Math.hypot(this.simulation.qvel[0], this.simulation.qvel[1], this.simulation.qvel[2]);
    const last = (this.planFrames - 1) * nq;
    const ahead = Math.hypot(this.plan.qpos[last] - now[0], this.plan.qpos[last + 1] - now[1]);
    const feet = this.body.feet.every((foot) => this.simulation.contacts[foot]);
    if (speed < STILL && ahead < 0.12 && feet && this.step > 15) {
      this.resting = true;
      this.frame = this.planFrames - 1;
    }
  }

  isDown([x, y, z]) {
    const [w, qx, qy] = this.simulation.qpos.subarray(3, 6);
    const up = 1 - 2 * (qx * qx + qy * qy);
    const low = !(z - this.terrain.heightAt(x, y) >= FALL.height);
    const tilted = !(up >= FALL.upright);
    return (low && tilted) || this.simulation.contacts[this.head] > 0 || !Number.isFinite(w);
  }

  /** On its feet again where it fell, or on the nearest even cell; the way goes on, but elsewhere if there is another. */
  putBack() {
    const { wish, goal } = this;
    if (wish === "goal") this.block();
    const at = this.place.every(Number.isFinite) ? this.place : this.fellAt;
    const [x, y] = evenPlace(this.terrain, at);
    const ahead = this.curve?.position(this.curve.progress + 0.8);
    const heading = ahead ? Math.atan2(ahead[1] - y, ahead[0] - x) : wish === "drive" ? Math.atan2(this.direction[1], this.direction[0]) : 0;
    this.stand(x, y, heading);
    this.on.event?.("put back");
    if (wish === "goal" && !this.keepsPath) this.toGoal(goal, false);
  }

  /** The way just ahead turned out to be hard: the next path shuns it. */
  block() {
    const { curve } = this;
    curve.nodes.forEach((node, k) => {
      if (curve.arc[k] <= curve.progress || curve.arc[k] > curve.progress + BLOCKED_AHEAD) return;
      const [i, j] = this.terrain.nearestCell(node[0], node[1]);
      const cell = i * this.terrain.columns + j;
      this.blocked.set(cell, (this.blocked.get(cell) ?? 0) + 1);
    });
  }
}

/** The centre of the cell nearest to a place that has no step beside it. */
export function evenPlace(terrain, [x, y]) {
  const [ci, cj] = terrain.nearestCell(x, y);
  let best = null;
  for (let i = Math.max(ci - 6, 0); i <= Math.min(ci + 6, terrain.rows - 1); i++) {
    for (let j = Math.max(cj - 6, 0); j <= Math.min(cj + 6, terrain.columns - 1); j++) {
      let rough = 0;
      for (let a = -1; a <= 1; a++) for (let b = -1; b <= 1; b++) rough = Math.max(rough, Math.abs(terrain.at(i + a, j + b) - terrain.at(i, j)));
      const [px, py] = terrain.centreOf(i, j);
      const price = Math.hypot(px - x, py - y) + (rough > 0.05 ? 3 + rough : 0) + Math.abs(terrain.at(i, j) - terrain.at(ci, cj));
      if (best === null || price < best.price) best = { price, place: [px, py] };
    }
  }
  const [px, py] = best.place;
  return Math.hypot(px - x, py - y) < 0.5 * terrain.cell ? [x, y] : best.place;
}

/** A state [x, y, z over level ground, quaternion w x y z, ..] turned about the vertical and moved to a place. */
export function turnedState(qpos, heading, [x, y, ground]) {
  const state = Float64Array.from(qpos);
  [state[0], state[1]] = turn(qpos[0], qpos[1], heading);
  state[0] += x;
  state[1] += y;
  state[2] += ground;
  const [c, s] = [Math.cos(heading / 2), Math.sin(heading / 2)];
  const [w, qx, qy, qz] = qpos.slice(3, 7);
  state.set([c * w - s * qz, c * qx - s * qy, c * qy + s * qx, c * qz + s * w], 3);
  return state;
}

function turn(x, y, angle) {
  return [Math.cos(angle) * x - Math.sin(angle) * y, Math.sin(angle) * x + Math.cos(angle) * y];
}
