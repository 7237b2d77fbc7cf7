// Answers of the page's own modules, for Python to compare: jobs as JSON on stdin, answers as JSON on stdout.

import fs from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const sources = process.argv[2];
const load = (name) => import(pathToFileURL(path.join(sources, name)).href);
const { Random } = await load("random.js");
const { Terrain, randomBoxes, randomWalks, platformChain } = await load("terrain.js");
const { navigationGraph } = await load("graph.js");
const { cheapestRoute, edgeCosts, planPath, planRoute, waypoints, ROUTE } = await load("route.js");
const { PathCurve } = await load("progress.js");
const { readLink, writeLink } = await load("link.js");
const { turnedState } = await load("reflex.js");

const ground = ({ rows, columns, heights }) => new Terrain(rows, columns, heights);
const told = (terrain) => ({ rows: terrain.rows, columns: terrain.columns, heights: Array.from(terrain.heights) });
const makers = { boxes: randomBoxes, walks: randomWalks, platforms: (random, settings) => platformChain(random, settings).terrain };

const answers = {
  random({ seed, count }) {
    const random = new Random(seed);
    return { bits: Array.from({ length: count }, () => random.bits()), normal: Array.from({ length: count }, () => random.normal()) };
  },
  terrain: ({ kind, seed, settings }) => told(makers[kind](new Random(seed), settings)),
  graph({ terrain }) {
    const graph = navigationGraph(ground(terrain));
    return { first: Array.from(graph.first), targets: Array.from(graph.targets), isJump: graph.isJump };
  },
  route({ terrain, start, goal, random }) {
    const settings = { ...ROUTE, wZ: 0.15, jump: 3, random };
    const graph = navigationGraph(ground(terrain));
    const route = cheapestRoute(graph, edgeCosts(graph, new Map(), settings), start, goal, settings);
    const straight = planRoute(ground(terrain), start, goal, new Map(), settings);
    return route && { cells: route.cells, cost: route.cost, nodes: waypoints(ground(terrain), straight) };
  },
  steer: ({ terrain, here, goal }) => planPath(ground(terrain), here, goal),
  follow({ nodes, roots }) {
    const curve = new PathCurve(nodes);
    return roots.map((root) => {
      curve.walk(root);
      return [curve.progress, ...curve.target(), Number(curve.reached(root))];
    });
  },
  async link({ terrain, seed, start }) {
    const hash = await writeLink({ terrain: ground(terrain), seed, kind: "boxes", start });
    const read = await readLink(`#${hash}`);
    return { length: hash.length, seed: read.seed, start: read.start, kind: read.kind, terrain: told(read.terrain) };
  },
  damaged: ({ hash }) => readLink(hash).then((read) => ({ read }), (error) => ({ sentence: error.message })),
  turned: ({ qpos, heading, place }) => Array.from(turnedState(qpos, heading, place)),
};

const jobs = JSON.parse(fs.readFileSync(0, "utf8"));
const done = [];
for (const [name, job] of jobs) done.push(await answers[name](job));
process.stdout.write(JSON.stringify(done));
