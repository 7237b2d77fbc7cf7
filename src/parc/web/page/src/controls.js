// What a person does: buttons, mouse, touch, keys and gamepad.

import { clamp } from "./terrain.js";

const element = (id) => document.getElementById(id);
const KEYS = { KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] };
const CLICK = 6; // pixels that a click may move
const BRUSH_SPEED = 1.2; // m a second
const GAMEPAD = { 0: "push", 1: "stay", 2: "slow", 3: "ground" };

export class Controls {
  tool = "go";
  radius = 1;
  power = 1;
  held = new Set();
  stick = [0, 0];
  pointers = new Map();
  pad = [];
  driven = false;

  constructor(page) {
    this.page = page;
    this.view = page.view;
    this.buttons();
    this.pointing();
    this.typing();
    this.joystick();
  }

  buttons() {
    const { page } = this;
    const click = (id, what) => element(id).addEventListener("click", what);
    const each = (id, attribute, what) =>
      element(id).addEventListener("click", ({ target }) => target.dataset[attribute] !== undefined && what(target.dataset[attribute]));
    each("tools", "tool", (tool) => this.setTool(tool));
    each("kinds", "kind", (kind) => page.newGround(kind));
    each("speeds", "speed", (speed) => this.setSpeed(Number(speed)));
    click("stop", () => page.ask({ type: "stay" }));
    click("reset", () => page.reset());
    click("share", () => page.share());
    click("save", () => page.save());
    click("fold", () => this.fold());
    click("help-open", () => element("help").showModal());
    click("licences-open", () => element("licences").showModal());
    element("follow").addEventListener("change", ({ target }) => (this.view.follows = target.checked));
    element("show-plan").addEventListener("change", ({ target }) => page.ask({ type: "plan", shown: target.checked }));
    element("light").addEventListener("change", ({ target }) => page.setTheme(target.checked ? "light" : "dark", true));
    element("radius").addEventListener("input", ({ target }) => {
      this.radius = Number(target.value);
      const across = 1 + 2 * this.radius;
      element("radius-told").textContent = across === 1 ? "1 cell" : `${across} cells`;
    });
    element("power").addEventListener("input", ({ target }) => {
      this.power = Number(target.value);
      element("power-told").textContent = `${this.power.toFixed(1)} m/s`;
    });
    if (matchMedia("(max-width: 640px)").matches) this.fold();
  }

  fold() {
    const folded = element("panel").classList.toggle("folded");
    element("fold").setAttribute("aria-expanded", String(!folded));
    this.page.resize();
  }

  setTool(tool) {
    this.tool = tool;
    mark("tools", "tool", tool);
    element("brush-row").hidden = !this.draws;
    element("push-row").hidden = tool !== "push";
    this.view.canvas.classList.toggle("draws", tool !== "go");
    this.view.setBrush(null);
  }

  get draws() {
    return this.tool === "raise" || this.tool === "lower";
  }

  setSpeed(speed) {
    if (speed > 0) this.lastSpeed = speed;
    mark("speeds", "speed", String(speed));
    this.page.setSpeed(speed);
  }

  markKind(kind) {
    mark("kinds", "kind", kind, "aria-pressed");
  }

  /** Mouse and fingers on the ground: a click does what the tool says, a drag turns the camera or draws. */
  pointing() {
    const { view, pointers } = this;
    const { canvas } = view;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      if (window.top !== window && !document.hasFocus()) return; // who scrolls past in another page wants to scroll on
      event.preventDefault();
      view.zoom(Math.exp(0.0012 * event.deltaY));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus();
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, moved: 0 });
      if (event.pointerType === "touch") this.showStick();
      const turns = event.button !== 0 || pointers.size > 1;
      this.gesture = turns ? "turn" : this.draws ? "draw" : "click";
      if (pointers.size === 2) this.spread = this.fingersApart();
      this.draw = this.gesture === "draw" ? event : null;
      if (this.draw) this.before = this.page.terrain.copy();
    });
    canvas.addEventListener("pointermove", (event) => {
      const pointer = pointers.get(event.pointerId);
      if (!pointer) return this.hover(event);
      const [dx, dy] = [event.clientX - pointer.x, event.clientY - pointer.y];
      Object.assign(pointer, { x: event.clientX, y: event.clientY, moved: pointer.moved + Math.hypot(dx, dy) });
      if (pointers.size === 2) {
        const apart = this.fingersApart();
        view.zoom(this.spread / Math.max(apart, 1));
        this.spread = apart;
        view.drag(dx / 2, dy / 2);
      } else if (this.gesture === "draw") {
        this.draw = event;
      } else if (this.gesture === "turn" || pointer.moved > CLICK) {
        view.drag(dx, dy);
      }
    });
    const end = (event) => {
      const pointer = pointers.get(event.pointerId);
      pointers.delete(event.pointerId);
      this.draw = null;
      if (event.type === "pointerup" && pointer && this.gesture === "click" && pointer.moved <= CLICK) this.click(event);
      if (!pointers.size) this.gesture = null;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => view.setBrush(null));
  }

  fingersApart() {
    const [a, b] = [...this.pointers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  }

  hover(event) {
    if (!this.draws || event.pointerType === "touch") return;
    const point = this.view.pick(event.clientX, event.clientY);
    this.view.setBrush(point, this.page.terrain.cell * (this.radius + 0.5));
  }

  click({ clientX, clientY }) {
    const { page, view } = this;
    const struck = view.touches(clientX, clientY);
    const point = view.pick(clientX, clientY);
    if (this.tool === "push") {
      const place = page.status.place;
      const way = struck ?? (point && [point.x - place[0], point.y - place[1]]);
      if (way) this.push(way);
    } else if (point) {
      const [x0, y0, x1, y1] = page.terrain.extent;
      page.ask({ type: "goal", goal: [clamp(point.x, x0 + 0.05, x1 - 0.05), clamp(point.y, y0 + 0.05, y1 - 0.05)] });
    }
  }

  push([x, y]) {
    const length = Math.hypot(x, y) || 1;
    this.page.ask({ type: "push", velocity: [(this.power * x) / length, (this.power * y) / length, 0] });
  }

  pushSomewhere() {
    const angle = 2 * Math.PI * Math.random();
    this.push([Math.cos(angle), Math.sin(angle)]);
  }

  typing() {
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const inField = event.target instanceof HTMLInputElement && event.target.type === "range";
      if (event.code in KEYS && !inField) {
        event.preventDefault();
        this.held.add(event.code);
      } else if (!event.repeat) {
        this.key(event);
      }
    });
    addEventListener("keyup", (event) => this.held.delete(event.code));
    addEventListener("blur", () => this.held.clear());
  }

  key(event) {
    const { page } = this;
    const onButton = event.target instanceof HTMLButtonElement || event.target instanceof HTMLInputElement;
    const does = {
      Digit1: () => this.setTool("go"), Digit2: () => this.setTool("raise"), Digit3: () => this.setTool("lower"), Digit4: () => this.setTool("push"),
      Space: () => this.setSpeed(page.speed ? 0 : this.lastSpeed ?? 1), KeyT: () => this.slow(), KeyP: () => this.pushSomewhere(),
      KeyN: () => page.newGround(page.ground.kind in { flat: 1, walks: 1, platforms: 1 } ? page.ground.kind : "boxes"),
      KeyR: () => page.reset(), KeyX: () => page.ask({ type: "stay" }), KeyH: () => this.fold(),
    };
    if (!(event.code in does) || (event.code === "Space" && onButton)) return;
    event.preventDefault();
    does[event.code]();
  }

  slow() {
    this.setSpeed(this.page.speed === 1 ? 0.25 : 1);
  }

  joystick() {
    const ring = element("stick");
    const knob = ring.firstElementChild;
    const move = (event) => {
      const { left, top, width } = ring.getBoundingClientRect();
      let [x, y] = [(event.clientX - left) / width - 0.5, (event.clientY - top) / width - 0.5].map((v) => v / 0.35);
      const length = Math.max(Math.hypot(x, y), 1);
      [x, y] = [x / length, y / length];
      this.stick = [x, -y];
      knob.style.transform = `translate(${33 * x}px, ${33 * y}px)`;
    };
    ring.addEventListener("pointerdown", (event) => {
      ring.setPointerCapture(event.pointerId);
      move(event);
    });
    ring.addEventListener("pointermove", (event) => ring.hasPointerCapture(event.pointerId) && move(event));
    for (const end of ["pointerup", "pointercancel"]) {
      ring.addEventListener(end, () => {
        this.stick = [0, 0];
        knob.style.transform = "";
      });
    }
    if (matchMedia("(pointer: coarse)").matches) this.showStick();
  }

  showStick() {
    element("stick").hidden = false;
    document.body.classList.add("with-stick");
  }

  /** Once a frame: keys, stick and gamepad become a direction; a held brush draws. */
  poll(dt) {
    if (!this.page.status) return;
    let [x, y] = this.stick;
    for (const code of this.held) [x, y] = [x + KEYS[code][0], y + KEYS[code][1]];
    const pad = this.gamepad(dt);
    this.driving([x + pad[0], y + pad[1]], dt);
    if (this.draw) this.brush(this.draw, dt);
  }

  gamepad(dt) {
    const pad = gamepads().find((p) => p?.connected);
    if (!pad) return [0, 0];
    const axis = (k) => (Math.abs(pad.axes[k] ?? 0) > 0.18 ? pad.axes[k] : 0);
    this.view.drag(400 * dt * axis(2), 400 * dt * axis(3));
    const does = { push: () => this.pushSomewhere(), stay: () => this.page.ask({ type: "stay" }), slow: () => this.slow(), ground: () => this.key({ code: "KeyN", preventDefault() {} }) };
    for (const [button, name] of Object.entries(GAMEPAD)) {
      const pressed = Boolean(pad.buttons[button]?.pressed);
      if (pressed && !this.pad[button]) does[name]();
      this.pad[button] = pressed;
    }
    return [axis(0), -axis(1)];
  }

  driving([x, y], dt) {
    const length = Math.hypot(x, y);
    if (length < 0.2) {
      if (this.driven) this.page.ask({ type: "drive", direction: [0, 0] });
      this.driven = false;
      return;
    }
    const [ax, ay] = this.view.ahead;
    const direction = [(y * ax + x * ay) / length, (y * ay - x * ax) / length];
    if (this.view.follows && !this.gesture && y > -0.3) this.view.swing(direction, dt);
    const last = this.driven;
    if (last && last[0] * direction[0] + last[1] * direction[1] > 0.9998) return;
    this.driven = direction;
    this.page.ask({ type: "drive", direction });
  }

  brush({ clientX, clientY }, dt) {
    const { page, view } = this;
    // The ground as it was when the stroke began: what rises must not come between the pointer and the place it was put on.
    const point = view.strike(this.before, clientX, clientY);
    if (!point) return;
    const sign = this.tool === "raise" ? 1 : -1;
    const [i, j] = page.terrain.nearestCell(point.x, point.y);
    point.z = page.terrain.at(i, j);
    page.terrain.brush(i, j, this.radius, sign * BRUSH_SPEED * dt);
    view.setBrush(point, page.terrain.cell * (this.radius + 0.5));
    page.edited();
  }
}

/** None where another page that holds this one does not pass them on. */
function gamepads() {
  try {
    return [...(navigator.getGamepads?.() ?? [])];
  } catch {
    return [];
  }
}

/** Which button of a choice is on. */
function mark(id, attribute, value, aria = "aria-checked") {
  for (const button of element(id).children) button.setAttribute(aria, String(button.dataset[attribute] === value));
}
