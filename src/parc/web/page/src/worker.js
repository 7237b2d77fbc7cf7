// Physics and networks, away from the page's own thread: simulates as fast as the clock asks and tells where the bodies are.

import loadMujoco from "@mujoco/mujoco";
import { Networks } from "./networks.js";
import { Reflex } from "./reflex.js";
import { Simulation } from "./simulation.js";
import { Terrain } from "./terrain.js";
import { readAsset } from "./assets.js";

const REMEMBERED = 60; // s of what happened that are kept
const AHEAD = 0.1; // s that the simulation is ahead of the drawing
const LATE = 0.25; // s behind the clock that are let go

let reflex, body, simulation;
let speed = 1;
let due = 0; // ms of the clock at which the next control step is due
let history, told, tellsPlan = true, busy = false, freeUntil = null;
let rate = { from: 0, steps: 0, spent: null };

self.onmessage = async ({ data }) => {
  try {
    if (data.type === "load") await load(data);
    else if (data.type in orders) orders[data.type](data);
  } catch (error) {
    fail(error);
  }
};

function fail(error) {
  self.postMessage({ type: "failure", sentence: error.message, stack: error.stack });
}

/** Everything that the page needs, told step by step. */
async function load({ base }) {
  const progress = new Map();
  const asset = (name) =>
    readAsset(new URL(name, base), (got, all) => {
      progress.set(name, [got, all]);
      const sums = [...progress.values()].reduce((sum, [a, b]) => [sum[0] + a, sum[1] + b], [0, 0]);
      self.postMessage({ type: "loading", what: "Fetching physics and networks", share: 0.8 * (sums[0] / Math.max(sums[1], 1)) });
    });
  const text = async (name) => new TextDecoder().decode(await asset(name));
  const files = await Promise.all([
    asset("mujoco.wasm.gz"), asset("ort.wasm.gz"), asset("models/generator.onnx.gz"), asset("models/tracker.onnx.gz"), text("body.json"), text("body.xml"),
  ]);
  const [engine, binary, generator, tracker, description, xml] = files;
  body = JSON.parse(description);
  self.postMessage({ type: "loading", what: "Starting physics", share: 0.82 });
  const silent = { print: () => {}, printErr: () => {} };
  let mujoco;
  try {
    mujoco = await loadMujoco({ wasmBinary: engine, ...silent });
  } catch {
    throw new Error("The physics engine could not be started: this browser's WebAssembly is switched off or too old.");
  }
  simulation = new Simulation(mujoco, body, xml);
  self.postMessage({ type: "loading", what: "Starting the networks", share: 0.88 });
  const networks = await Networks.load({ binary, generator, tracker, body }, () => {
    self.postMessage({ type: "loading", what: "Starting the networks", share: 0.95 });
  });
  reflex = new Reflex(simulation, networks, body, {
    way: (nodes, isGoal) => self.postMessage({ type: "way", nodes, isGoal }),
    plan: tellPlan,
    event: (what) => self.postMessage({ type: "event", what, counts: reflex.counts, time: reflex.step / body.control_hz }),
  });
  history = new Float32Array(REMEMBERED * body.control_hz * body.names.length * 7);
  self.postMessage({ type: "loaded", names: body.names, fps: body.control_hz });
}

const orders = {
  begin({ terrain, start, seed, heading = 0 }) {
    reflex.begin(received(terrain), start, seed, heading);
    told = 0;
    due = performance.now();
    tell();
    run();
  },
  edit: ({ terrain }) => reflex.setTerrain(received(terrain)),
  goal: ({ goal }) => reflex.toGoal(goal) || self.postMessage({ type: "event", what: "no way" }),
  along: ({ nodes }) => reflex.along(nodes),
  stay: () => reflex.stay(),
  drive: ({ direction }) => reflex.drive(direction),
  push({ velocity }) {
    reflex.push(velocity);
    self.postMessage({ type: "event", what: "pushed" });
  },
  speed(order) {
    speed = order.speed;
    due = performance.now();
    run();
  },
  /** So many control steps at once, without waiting for the clock; answered by "ran". */
  free({ steps, until = [] }) {
    freeUntil = { step: reflex.step + steps, until, from: performance.now(), first: reflex.step, roots: [] };
    run();
  },
  plan: ({ shown }) => (tellsPlan = shown),
  history({ id }) {
    const frames = Math.min(told, REMEMBERED * body.control_hz);
    const width = body.names.length * 7;
    const kept = new Float32Array(frames * width);
    for (let n = 0; n < frames; n++) {
      const row = (told - frames + n) % (REMEMBERED * body.control_hz);
      kept.set(history.subarray(row * width, (row + 1) * width), n * width);
    }
    self.postMessage({ type: "history", id, history: kept, frames }, [kept.buffer]);
  },
};

function received({ rows, columns, heights, low, cell }) {
  return new Terrain(rows, columns, heights, low, cell);
}

/** One loop at a time: control steps while they are due, and in between a look at what was asked for. */
async function run() {
  if (busy) return;
  busy = true;
  try {
    while (reflex && (freeUntil || speed > 0)) {
      const now = performance.now();
      if (!freeUntil && now < due - 1000 * AHEAD) {
        await pause(due - 1000 * AHEAD - now);
        continue;
      }
      due = Math.max(due + 1000 / (body.control_hz * (speed || 1)), now - 1000 * (AHEAD + LATE));
      const before = reflex.counts.falls + reflex.counts.arrivals;
      await reflex.control();
      tell();
      if (freeUntil) lookIfRan(reflex.counts.falls + reflex.counts.arrivals > before);
      await pause(0);
    }
  } catch (error) {
    fail(error);
  } finally {
    busy = false;
  }
}

function lookIfRan(ended) {
  freeUntil.roots.push(Array.from(simulation.qpos.subarray(0, 3)));
  if (reflex.step < freeUntil.step && !(ended && freeUntil.until.length)) return;
  const wall = (performance.now() - freeUntil.from) / 1000;
  const steps = reflex.step - freeUntil.first;
  self.postMessage({ type: "ran", steps, wall, roots: freeUntil.roots, counts: reflex.counts, state: snapshot() });
  freeUntil = null;
  due = performance.now();
}

function snapshot() {
  return { qpos: Array.from(simulation.qpos), qvel: Array.from(simulation.qvel), contacts: Array.from(simulation.contacts), held: Array.from(reflex.held) };
}

const channel = new MessageChannel();
let resume = null;
channel.port1.onmessage = () => resume?.();

/** Let messages in; setTimeout alone would wait 4 ms at the least. */
function pause(milliseconds) {
  return new Promise((done) => {
    if (milliseconds > 4) return setTimeout(done, milliseconds);
    resume = done;
    channel.port2.postMessage(0);
  });
}

/** Where the bodies are, and once a second how fast it went. */
function tell() {
  const width = body.names.length * 7;
  const row = told % (REMEMBERED * body.control_hz);
  simulation.bodiesOf(simulation.qpos, history, row * width);
  told++;
  const bodies = history.slice(row * width, (row + 1) * width);
  const left = reflex.wish === "goal" && reflex.curve ? reflex.curve.length - reflex.curve.progress : null;
  self.postMessage(
    { type: "state", step: reflex.step, number: told, bodies, status: reflex.status, left, place: reflex.place, seed: reflex.start.seed },
    [bodies.buffer],
  );
  const now = performance.now();
  rate.steps++;
  if (now - rate.from < 1000) return;
  const { plan, plans, act, step, steps } = reflex.spent;
  const load = (plan + act + step) / (1000 * Math.max(steps, 1) / body.control_hz);
  const rates = { realTime: (rate.steps / body.control_hz) / ((now - rate.from) / 1000), able: 1 / Math.max(load, 1e-6), plan: plans ? plan / plans : null, act: act / Math.max(steps, 1), step: step / Math.max(steps, 1) };
  self.postMessage({ type: "rates", ...rates });
  reflex.spent = { plan: 0, plans: 0, act: 0, step: 0, steps: 0 };
  rate = { from: now, steps: 0 };
}

/** The way of the planned root, and the pose that the body should have in a third of a second. */
function tellPlan(plan, frames) {
  if (!tellsPlan) return;
  const { nq } = body;
  const line = new Float32Array(3 * frames);
  for (let n = 0; n < frames; n++) line.set(plan.qpos.subarray(n * nq, n * nq + 3), 3 * n);
  const pose = simulation.bodiesOf(plan.qpos.subarray((frames - 1) * nq, frames * nq), new Float32Array(body.names.length * 7));
  self.postMessage({ type: "plan", line, pose }, [line.buffer, pose.buffer]);
}
