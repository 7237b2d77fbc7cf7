// The page: starts the worker, draws what it tells, and passes on what a person asks for.

import { readAsset } from "./assets.js";
import { Controls } from "./controls.js";
import { writeGlb } from "./glb.js";
import { groundShape } from "./ground.js";
import { readLink, writeLink } from "./link.js";
import { readSkin } from "./mannequin.js";
import { Terrain, makeTerrain, startPlace } from "./terrain.js";
import { View } from "./view.js";

const options = new URLSearchParams(location.search);
const base = new URL(".", document.baseURI);
const element = (id) => document.getElementById(id);
const TELL = { fell: "It fell", "put back": "Back on its feet, where it fell", arrived: "Arrived", "no way": "No way leads there: the step would be higher than 2.1 m", pushed: "Pushed" };

const INVITES = { go: "Click where to go", raise: "Draw to raise the ground", lower: "Draw to lower the ground", push: "Click beside it to push it that way" };

class Page {
  states = []; // of the simulation, the oldest first
  playhead = 0;
  speed = 1;
  counts = { falls: 0, arrivals: 0, pushes: 0 };
  rates = null;
  draws = options.get("draw") !== "0";

  async start() {
    const asked = options.get("theme") ?? remembered("theme");
    const theme = asked ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
    document.documentElement.dataset.theme = theme; // of what is said before there is a view, too
    if (typeof WebAssembly !== "object") throw new Error("This browser has no WebAssembly, which the physics and the networks need.");
    this.worker = new Worker(new URL("worker.js", base), { type: "module" });
    this.worker.onmessage = ({ data }) => this.told[data.type]?.(data);
    this.worker.onerror = (event) => this.fail(event.message || "The physics could not be started: is the page's folder served whole, over http?");
    this.worker.postMessage({ type: "load", base: base.href });
    this.skin = readSkin(await readAsset(new URL("mannequin.bin.gz", base)));
    try {
      this.view = new View(element("view"), this.skin);
    } catch {
      throw new Error("This browser has no WebGL, which the drawing needs: switch on hardware acceleration, or try another browser.");
    }
    this.controls = new Controls(this);
    this.setTheme(theme);
    addEventListener("resize", () => this.resize());
    addEventListener("hashchange", () => this.openLink());
    this.licences();
  }

  setTheme(name, keep = false) {
    if (keep) remembered("theme", name);
    document.documentElement.dataset.theme = name;
    element("light").checked = name === "light";
    this.view.setTheme(name);
  }

  resize() {
    this.view.resize();
    const panel = element("panel").getBoundingClientRect();
    const narrow = innerWidth <= 640;
    const folded = element("panel").classList.contains("folded");
    document.body.style.setProperty("--covered", `${narrow || folded ? 0 : panel.right}px`);
    this.view.setCovered(narrow || folded ? 0 : panel.right, narrow && !folded ? -0.8 * panel.height : 0);
  }

  /** What the worker tells, by type. */
  told = {
    loading: ({ what, share }) => {
      element("loading").querySelector("p").textContent = what;
      element("loading").querySelector("i").style.width = `${100 * share}%`;
    },
    loaded: async ({ names, fps }) => {
      Object.assign(this, { names, fps });
      await this.ready;
      if (this.broken) return;
      if (!(await this.openLink())) this.newGround(options.get("ground") ?? "boxes", Number(options.get("seed") ?? 1 + Math.floor(Math.random() * 9999)));
      if (options.has("paused")) this.controls.setSpeed(0);
      this.resize();
      element("loading").classList.add("done");
      this.last = performance.now();
      requestAnimationFrame((now) => this.frame(now));
    },
    state: (state) => {
      state.time = state.number / this.fps;
      this.states.push(state);
      if (this.states.length > 40) this.states.splice(0, this.states.length - 40);
      this.status = state;
    },
    way: ({ nodes, isGoal }) => this.view.setWay(nodes, isGoal),
    plan: ({ line, pose }) => (this.plan = { line, pose }),
    event: ({ what, counts }) => {
      if (counts) this.counts = counts;
      this.say(TELL[what], what === "fell" || what === "put back" ? 2.5 : 1.6, what !== "pushed" && what !== "arrived");
    },
    rates: (rates) => (this.rates = rates),
    history: ({ id, history, frames }) => this.waiting.get(id)?.({ history, frames }),
    ran: (result) => {
      this.free = false;
      this.onRan?.(result);
    },
    failure: ({ sentence, stack }) => this.fail(sentence, stack),
  };
  waiting = new Map();

  fail(sentence) {
    this.broken = true;
    element("loading").hidden = true;
    element("failure").hidden = false;
    element("failure").querySelector("p").textContent = sentence;
  }

  ask(order) {
    this.worker.postMessage(order);
  }

  /** Other ground with the character at its start. */
  begin(terrain, { start, seed, kind, heading = 0 }) {
    this.terrain = terrain;
    this.ground = { start, seed, kind, heading };
    this.states = [];
    this.plan = null;
    this.fresh = true;
    this.view.setTerrain(terrain);
    this.view.setWay(null);
    this.ask({ type: "begin", terrain: plain(terrain), start, seed, heading });
    this.controls.markKind(kind);
  }

  newGround(kind, seed = 1 + Math.floor(Math.random() * 9999)) {
    const terrain = makeTerrain(kind, seed);
    this.begin(terrain, { start: startPlace(terrain, kind), seed, kind });
  }

  reset() {
    this.begin(this.terrain, this.ground);
  }

  async openLink() {
    try {
      const link = await readLink(location.hash);
      if (link === null) return false;
      this.begin(link.terrain, link);
      return true;
    } catch (error) {
      this.say(error.message, 6, true);
      return false;
    }
  }

  /** Cells changed: draw at once, tell the worker a little later. */
  edited() {
    this.view.setTerrain(this.terrain);
    this.edits = (this.edits ?? 0) + 1;
    clearTimeout(this.editing);
    this.editing = setTimeout(() => this.ask({ type: "edit", terrain: plain(this.terrain) }), 60);
  }

  async share() {
    const hash = await writeLink({ terrain: this.terrain, ...this.ground });
    history.replaceState(null, "", `#${hash}`);
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("Link copied: it holds this ground and seed", 2.5);
    } catch {
      if (window.top === window) this.say("The address of this page now holds this ground and seed", 3);
      else this.showLink(); // inside another page nobody sees the address
    }
    return location.href;
  }

  showLink() {
    const field = element("link").querySelector("input");
    field.value = location.href;
    element("link").showModal();
    field.select();
  }

  async save() {
    const { history, frames } = await this.history();
    const ground = groundShape(this.terrain, this.view.theme);
    const blob = writeGlb({ history, frames, fps: this.fps, names: this.names, skin: this.skin, ground });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `parc-${this.ground.seed}.glb` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    this.say(`Saved ${(frames / this.fps).toFixed(0)} s`, 2);
  }

  history() {
    const id = this.waiting.size;
    return new Promise((done) => {
      this.waiting.set(id, done);
      this.ask({ type: "history", id });
    });
  }

  setSpeed(speed) {
    this.speed = speed;
    this.ask({ type: "speed", speed });
  }

  say(sentence, seconds, loud = false) {
    this.saying = { sentence, until: performance.now() + 1000 * seconds, loud };
  }

  frame(now) {
    requestAnimationFrame((next) => this.frame(next));
    const dt = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    this.fps60 = this.fps60 ? 0.95 * this.fps60 + 0.05 / Math.max(dt, 1e-3) : 60;
    this.controls.poll(dt);
    this.play(dt);
    this.tell(now);
    if (this.draws && this.changes(now)) this.view.draw(dt);
  }

  /** Whether there is anything new to draw; control steps that a script asks for at once are drawn when they are done. */
  changes(now) {
    const { orbit, share, terrain, theme, brush, goal, way } = this.view;
    const size = `${this.view.canvas.clientWidth} ${this.view.canvas.clientHeight}`;
    const seen = [Object.values(orbit), this.status?.number, size, share, theme?.back, brush.visible, brush.position.x, brush.position.y, goal.position.x, way.count, this.edits].join();
    if (seen !== this.seen || terrain !== this.seenTerrain) [this.seen, this.seenTerrain, this.drawUntil] = [seen, terrain, now + 600];
    return !this.free && (this.speed > 0 || now < this.drawUntil);
  }

  /** Go on in what was simulated, about a tenth of a second behind it, and place the bodies between two states. */
  play(dt) {
    if (!this.states.length) return;
    const newest = this.states.at(-1).time;
    if (this.fresh || this.speed === 0 || newest < this.playhead - 0.1) {
      this.playhead = newest;
      const at = this.states.at(-1).bodies;
      if (this.fresh) this.view.focus.set(at[0], at[1], at[2] - 0.05);
      this.fresh = false;
    }
    const behind = newest - this.playhead - 0.1;
    this.playhead = Math.min(Math.max(this.playhead + dt * this.speed * (1 + Math.max(Math.min(2 * behind, 0.5), -0.5)), newest - 0.6), newest);
    let k = this.states.length - 1;
    while (k > 0 && this.states[k - 1].time > this.playhead) k--;
    const [a, b] = [this.states[Math.max(k - 1, 0)], this.states[k]];
    const far = Math.hypot(b.bodies[0] - a.bodies[0], b.bodies[1] - a.bodies[1], b.bodies[2] - a.bodies[2]) > 0.6;
    const share = a === b || far ? 1 : (this.playhead - a.time) / (b.time - a.time);
    this.view.mannequin.place(a.bodies, b.bodies, Math.min(Math.max(share, 0), 1));
    const showsPlan = this.plan && element("show-plan").checked && ["goes", "driven"].includes(this.status.status);
    this.view.setPlan(showsPlan ? this.plan.line : null, this.plan?.pose);
  }

  tell(now) {
    const box = element("status");
    const saying = this.saying && now < this.saying.until ? this.saying : null;
    const text = saying?.sentence ?? this.describe();
    if (box.textContent !== text) box.textContent = text;
    box.classList.toggle("loud", Boolean(saying?.loud));
    if (now - (this.ratesTold ?? 0) < 500) return;
    this.ratesTold = now;
    const { rates } = this;
    const parts = [`<b>${this.fps60.toFixed(0)}</b> frames/s`];
    if (rates) parts.push(`<b>${rates.realTime.toFixed(2)}</b> × real time, could ${rates.able.toFixed(1)}`, `${rates.plan === null ? "no plan" : `plan <b>${rates.plan.toFixed(0)}</b> ms`}, step <b>${(rates.act + rates.step).toFixed(1)}</b> ms`);
    parts.push(`seed <b>${this.ground?.seed ?? ""}</b>, falls <b>${this.counts.falls}</b>`);
    element("rates").innerHTML = parts.join("\n");
  }

  describe() {
    if (this.speed === 0) return "Paused";
    const { status } = this;
    if (!status) return "";
    if (status.status === "goes") return `On its way, ${Math.max(status.left, 0).toFixed(1)} m left`;
    return { stands: INVITES[this.controls.tool], driven: "Driven", fallen: "It fell" }[status.status];
  }

  async licences() {
    const list = element("licence-list");
    const entries = JSON.parse(new TextDecoder().decode(await readAsset(new URL("licences.json", base))));
    for (const { name, version, licence, text, inside } of entries) {
      const details = document.createElement("details");
      const summary = document.createElement("summary");
      const told = document.createElement("span");
      summary.textContent = inside ? `${name}, in ${inside}` : `${name} ${version}`;
      details.classList.toggle("inside", Boolean(inside));
      told.textContent = licence;
      summary.append(told);
      const pre = document.createElement("pre");
      pre.textContent = text;
      details.append(summary, pre);
      list.append(details);
    }
  }
}

/** What this browser keeps for the page; nothing where keeping is forbidden, as it often is inside another page. */
function remembered(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function plain({ rows, columns, heights, low, cell }) {
  return { rows, columns, heights: Float32Array.from(heights), low: [...low], cell };
}

/** For tests and the curious: ground from numbers, goals, and control steps at once. */
function scripted(page) {
  return {
    page,
    get state() {
      return page.status;
    },
    get counts() {
      return page.counts;
    },
    heights: () => Array.from(page.terrain.heights),
    setGround: ({ rows, columns, heights, start, seed = 0, heading = 0 }) =>
      page.begin(new Terrain(rows, columns, heights), { start, seed, kind: "own", heading }),
    goTo: (x, y) => page.ask({ type: "goal", goal: [x, y] }),
    along: (nodes) => page.ask({ type: "along", nodes }),
    push: (velocity) => page.ask({ type: "push", velocity }),
    run: (steps, until = []) =>
      new Promise((done) => {
        page.onRan = done;
        page.free = true;
        page.ask({ type: "free", steps, until });
      }),
    screen: (x, y) => page.view.project([x, y, page.terrain.heightAt(x, y)]),
  };
}

const page = new Page();
page.ready = page.start().catch((error) => page.fail(error.message));
window.parc = scripted(page);
