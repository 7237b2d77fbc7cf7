// The page's physics in Node, for Python to compare: a body under motor targets, as JSON on stdin; its states as JSON on stdout.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [, , sources, modules] = process.argv;
const load = (folder, name) => import(pathToFileURL(path.join(folder, name)).href);
const { Simulation } = await load(sources, "simulation.js");
const { Terrain } = await load(sources, "terrain.js");
const { default: loadMujoco } = await load(modules, "@mujoco/mujoco/mujoco.js");
const wasmBinary = fs.readFileSync(path.join(modules, "@mujoco/mujoco/mujoco.wasm"));
const mujoco = await loadMujoco({ wasmBinary, print: () => {}, printErr: () => {} });

const jobs = JSON.parse(fs.readFileSync(0, "utf8"));
const told = jobs.map(({ body, xml, terrain, qpos, qvel, targets }) => {
  const simulation = new Simulation(mujoco, body, xml);
  simulation.setTerrain(new Terrain(terrain.rows, terrain.columns, terrain.heights));
  simulation.reset(qpos, qvel);
  return targets.map((wanted) => {
    simulation.step(Float32Array.from(wanted));
    return { qpos: Array.from(simulation.qpos), contacts: Array.from(simulation.contacts) };
  });
});
process.stdout.write(JSON.stringify(told));
