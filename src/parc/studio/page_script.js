// What the studio adds to viser's page: driving keys and gamepads, the time line, the gallery, the tab that is shown.
// It talks to the server through one hidden text control, whose value is a JSON list [number, kind, ...values].
(() => {
  if (window.parcStudio) return;
  const state = { control: "", drives: false, end: 0, time: 0, playing: false, now: 0 };
  let count = 0;

  function tell(kind, ...values) {
    const viewer = window.__viserMutable;
    if (!viewer || !state.control) return setTimeout(() => tell(kind, ...values), 100);
    const value = JSON.stringify([++count, kind, ...values]);
    viewer.sendMessage({ type: "GuiUpdateMessage", uuid: state.control, updates: { value } });
  }

  // --- Driving: keys and the first gamepad give how far ahead and how far left, -1 to 1 each.
  const WAYS = {
    KeyW: [1, 0], ArrowUp: [1, 0], KeyS: [-1, 0], ArrowDown: [-1, 0],
    KeyA: [0, 1], ArrowLeft: [0, 1], KeyD: [0, -1], ArrowRight: [0, -1],
  };
  const DEAD = 0.18, EVERY = 100;
  const held = new Set();
  let last = [0, 0];
  const isText = e => e && (/^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName) || e.isContentEditable);
  // Caught before viser sees them: its own camera keys rest while a character is driven.
  window.addEventListener("keydown", event => {
    if (!state.drives || !(event.code in WAYS) || isText(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!held.has(event.code)) { held.add(event.code); steer(); }
  }, true);
  window.addEventListener("keyup", event => {
    if (!held.delete(event.code)) return;
    event.stopImmediatePropagation();
    steer();
  }, true);
  window.addEventListener("blur", () => { held.clear(); steer(); });

  function stick() {
    const pads = navigator.getGamepads ? navigator.getGamepads() : [];
    const pad = Array.from(pads).find(p => p && p.connected && p.axes.length > 1);
    if (!pad) return [0, 0];
    const pressed = k => (pad.buttons[k] && pad.buttons[k].pressed ? 1 : 0);
    const ahead = -pad.axes[1] + pressed(12) - pressed(13), left = -pad.axes[0] + pressed(14) - pressed(15);
    return Math.hypot(ahead, left) < DEAD ? [0, 0] : [ahead, left];
  }

  function steer() {
    let [ahead, left] = stick();
    for (const code of held) { ahead += WAYS[code][0]; left += WAYS[code][1]; }
    const clip = v => Math.round(100 * Math.max(-1, Math.min(1, v))) / 100;
    const now = state.drives ? [clip(ahead), clip(left)] : [0, 0];
    if (now[0] || now[1] || last[0] || last[1]) tell("steer", ...now);
    last = now;
  }
  setInterval(() => { if (state.drives || last[0] || last[1]) steer(); }, EVERY);

  // --- The time line: buttons, and a place in it that is pressed or dragged to.
  function seek(event, line) {
    const box = line.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    state.time = share * state.end;
    draw();
    tell("seek", state.time);
  }
  let dragged = null;
  document.addEventListener("pointerdown", event => {
    const line = event.target.closest && event.target.closest("[data-parc-line]");
    if (!line || event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    dragged = line;
    seek(event, line);
  }, true);
  window.addEventListener("pointermove", event => {
    if (dragged && dragged.isConnected && performance.now() - state.now > 40) { state.now = performance.now(); seek(event, dragged); }
  }, true);
  window.addEventListener("pointerup", event => {
    if (dragged && dragged.isConnected) seek(event, dragged);
    dragged = null;
  }, true);
  document.addEventListener("click", event => {
    const at = event.target.closest && event.target.closest("[data-parc-do]");
    if (at) tell(at.dataset.parcDo, at.dataset.parcValue || "");
  });
  document.addEventListener("change", event => {
    const kind = event.target.dataset && event.target.dataset.parcChange;
    if (kind) tell(kind, event.target.type === "checkbox" ? (event.target.checked ? "1" : "") : event.target.value);
  });

  function draw() {
    const share = state.end > 0 ? state.time / state.end : 0;
    for (const head of document.querySelectorAll("[data-parc-head]")) head.style.left = `${100 * Math.min(share, 1)}%`;
    for (const text of document.querySelectorAll("[data-parc-clock]")) text.textContent = `${state.time.toFixed(2)} s`;
    for (const box of document.querySelectorAll("[data-parc-frame]"))
      if (box !== document.activeElement) box.value = String(Math.round(30 * state.time));
    for (const button of document.querySelectorAll("[data-parc-do=toggle]")) {
      const label = state.playing ? "Pause" : "Play";
      if (button.textContent !== label) button.textContent = label;
    }
  }
  const shown = new MutationObserver(changes => {
    if (changes.some(change => [...change.addedNodes].some(n => n.querySelector && n.querySelector("[data-parc-head]")))) draw();
  });

  // --- Which tabs are shown: the tool of the mouse follows them.
  let tabs = "";
  function look() {
    const names = [...document.querySelectorAll("[role=tab][aria-selected=true]")].map(tab => tab.textContent.trim());
    if (names.join("\n") === tabs) return;
    const fresh = names.filter(name => !tabs.split("\n").includes(name));
    tabs = names.join("\n");
    for (const name of fresh) tell("tab", name);
  }

  function begin() {
    const view = document.querySelector("canvas[data-engine]"), viewer = window.__viserMutable;
    if (!view || !viewer) return setTimeout(begin, 50);
    // viser 1.1 takes a skinned mesh out of a parent that is null by then and loses the page; undefined it can bear.
    viewer.nodeRefFromName = new Proxy(viewer.nodeRefFromName, { get: (nodes, name) => nodes[name] ?? undefined });
    new MutationObserver(look).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["aria-selected"] });
    new ResizeObserver(() => tell("view", view.clientWidth, view.clientHeight)).observe(view);
    shown.observe(document.body, { subtree: true, childList: true });
    const gl = view.getContext("webgl2"), info = gl && gl.getExtension("WEBGL_debug_renderer_info");
    const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "software";
    tell("renderer", /swiftshader|llvmpipe|software|basic render/i.test(name) ? "software" : "card");
    look();
  }

  window.parcStudio = {
    state,
    set(values) { Object.assign(state, values); draw(); },
  };
  begin();
})();
