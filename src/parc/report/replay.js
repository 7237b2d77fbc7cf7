// Replays motions inside a report page: plain WebGL 1, no libraries, nothing fetched.
// Every <div class="replay"> holds one JSON object (its layout: parc/report/replay_data.py) and becomes a viewer:
// drag to orbit, shift-drag or right-drag to move, wheel to zoom, space to play or pause.
// One of class "lazy" shows a picture until it is clicked; only the last few clicked ones stay open, as browsers allow few canvases.
"use strict";
(() => {
  const SUN = normalise([-0.5, -0.62, 0.95]);
  const CONTACT = [0.913, 0.202, 0.014];
  const PATH = [0.005, 0.255, 0.209];
  const MOST_BONES = 64;
  const CLEARLY = 0.15;  // m by which a second body is nearer where it is drawn over the first

  // ---- numbers ----------------------------------------------------------------------------------------------------

  function decode(text, Type) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Type(bytes.buffer);
  }
  function normalise(v) { const n = Math.hypot(...v) || 1; return v.map((x) => x / n); }
  function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
  function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  function add(a, b, scale = 1) { return [a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]]; }
  // Quaternion xyzw to a 3 x 3 matrix, column by column as WebGL wants it.
  function turn([x, y, z, w]) {
    return [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y),
            2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
            2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)];
  }
  function rotate(m, v) {
    return [m[0] * v[0] + m[3] * v[1] + m[6] * v[2], m[1] * v[0] + m[4] * v[1] + m[7] * v[2], m[2] * v[0] + m[5] * v[1] + m[8] * v[2]];
  }
  function multiply(a, b) {
    const c = new Float32Array(16);
    for (let col = 0; col < 4; col++) for (let row = 0; row < 4; row++)
      for (let k = 0; k < 4; k++) c[4 * col + row] += a[4 * k + row] * b[4 * col + k];
    return c;
  }
  function linear(code) {
    return [1, 3, 5].map((i) => Math.pow(parseInt(code.slice(i, i + 2), 16) / 255, 2.2));
  }

  // ---- meshes: {position, normal} triangle lists in the owner's frame ---------------------------------------------

  function capsuleMesh(start, end, radius) {
    const axis = add(end, start, -1), length = Math.hypot(...axis);
    const up = length > 1e-9 ? normalise(axis) : [0, 0, 1];
    const side = normalise(cross(up, Math.abs(up[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), front = cross(up, side);
    const around = 18, rings = [];
    for (let k = 0; k <= 12; k++) {  // latitudes 0..6 belong to the start's cap, 6..12 to the end's; the equator is doubled
      const angle = -Math.PI / 2 + (Math.PI * k) / 12;
      if (k <= 6) rings.push([angle, start]);
      if (k >= 6) rings.push([angle, end]);
    }
    const grid = rings.map(([angle, centre]) => Array.from({ length: around + 1 }, (_, n) => {
      const a = (2 * Math.PI * n) / around, c = Math.cos(angle);
      const normal = add(add(up.map((x) => x * Math.sin(angle)), side, c * Math.cos(a)), front, c * Math.sin(a));
      return { normal, position: add(centre, normal, radius) };
    }));
    const mesh = { position: [], normal: [] };
    for (let r = 0; r + 1 < grid.length; r++) for (let n = 0; n < around; n++)
      for (const p of [grid[r][n], grid[r][n + 1], grid[r + 1][n + 1], grid[r][n], grid[r + 1][n + 1], grid[r + 1][n]]) {
        mesh.position.push(...p.position);
        mesh.normal.push(...p.normal);
      }
    return mesh;
  }

  function boxMesh(centre, half, rotation) {
    const m = turn(rotation), mesh = { position: [], normal: [] };
    for (let axis = 0; axis < 3; axis++) for (const sign of [-1, 1]) {
      const normal = [0, 0, 0], u = [0, 0, 0], v = [0, 0, 0];
      normal[axis] = sign; u[(axis + 1) % 3] = half[(axis + 1) % 3]; v[(axis + 2) % 3] = half[(axis + 2) % 3];
      const middle = normal.map((x, k) => x * half[k]);
      for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        mesh.position.push(...add(centre, rotate(m, add(add(middle, u, a), v, b))));
        mesh.normal.push(...rotate(m, normal));
      }
    }
    return mesh;
  }

  // Tops, and walls where a neighbour is lower; `corner` is (u, v) in the cell for the thin lines along its edges.
  function groundMesh(terrain) {
    const [nx, ny] = terrain.size, h = decode(terrain.heights, Float32Array), c = terrain.cell;
    const lowest = h.reduce((a, b) => Math.min(a, b)), base = lowest - 0.6 * c;
    const height = (i, j) => (i < 0 || j < 0 || i >= nx || j >= ny ? base : h[i * ny + j]);
    const mesh = { position: [], normal: [], corner: [] };
    const quad = (points, normal, corners) => {
      for (const k of [0, 1, 2, 0, 2, 3]) {
        mesh.position.push(...points[k]); mesh.normal.push(...normal); mesh.corner.push(...corners[k]);
      }
    };
    for (let i = 0; i < nx; i++) for (let j = 0; j < ny; j++) {
      const z = height(i, j), x0 = terrain.min_point[0] + (i - 0.5) * c, y0 = terrain.min_point[1] + (j - 0.5) * c, x1 = x0 + c, y1 = y0 + c;
      quad([[x0, y0, z], [x1, y0, z], [x1, y1, z], [x0, y1, z]], [0, 0, 1], [[0, 0], [1, 0], [1, 1], [0, 1]]);
      for (const [di, dj] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        const low = height(i + di, j + dj);
        if (low >= z - 1e-6) continue;
        const a = di ? [di > 0 ? x1 : x0, y0] : [x0, dj > 0 ? y1 : y0], b = di ? [a[0], y1] : [x1, a[1]];
        quad([[...a, low], [...b, low], [...b, z], [...a, z]], [di, dj, 0], [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]);
      }
    }
    mesh.range = [lowest, h.reduce((a, b) => Math.max(a, b))];
    mesh.height = (x, y) => {
      const i = Math.round((x - terrain.min_point[0]) / c), j = Math.round((y - terrain.min_point[1]) / c);
      return i < 0 || j < 0 || i >= nx || j >= ny ? -Infinity : h[i * ny + j];
    };
    return mesh;
  }

  // Degrees above the horizon from which a point is seen over the ground, from as far as `distance` in direction `azimuth`.
  function clearElevation(height, [x, y, z], azimuth, distance) {
    const a = (azimuth * Math.PI) / 180;
    let most = 0;
    for (let r = 0.4; r < distance; r += 0.2) {
      const rise = height(x + r * Math.cos(a), y + r * Math.sin(a)) - z;
      if (rise > 0) most = Math.max(most, (Math.atan2(rise + 0.1, r) * 180) / Math.PI);
    }
    return Math.min(most, 75);
  }

  // ---- shaders ----------------------------------------------------------------------------------------------------

  const LIGHT = `
    precision highp float;
    uniform vec3 sun;
    vec3 lit(vec3 surface, vec3 normal, float sunlight) {
      float sky = 0.66 + 0.34 * normal.z - 0.1 * abs(normal.x);
      vec3 light = sky * 0.44 * vec3(0.88, 0.95, 1.06) + max(dot(normal, sun), 0.0) * sunlight * 0.9 * vec3(1.0, 0.95, 0.86);
      return pow(clamp(surface * light, 0.0, 1.0), vec3(1.0 / 2.2));
    }`;
  const BODY_VERTEX = `
    attribute vec3 position, normal;
    uniform mat4 camera; uniform mat3 rotation; uniform vec3 origin, eye; uniform float behind;
    varying vec3 direction;
    // Its depth is that of a point so many metres farther from the eye, its place on the screen its own.
    void main() {
      direction = rotation * normal;
      vec3 place = rotation * position + origin;
      vec4 here = camera * vec4(place, 1.0), far = camera * vec4(place + behind * normalize(place - eye), 1.0);
      gl_Position = vec4(here.xy, behind > 0.0 ? far.z / far.w * here.w : here.z, here.w);
    }`;
  const BODY_FRAGMENT = LIGHT + `
    uniform vec3 colour; varying vec3 direction;
    void main() { gl_FragColor = vec4(lit(colour, normalize(direction), 1.0), 1.0); }`;
  const GROUND_VERTEX = `
    attribute vec3 position, normal; attribute vec2 corner;
    uniform mat4 camera;
    varying vec3 place, direction; varying vec2 inside;
    void main() { place = position; direction = normal; inside = corner; gl_Position = camera * vec4(position, 1.0); }`;
  // The sun's shadow of a body is that of its bones: how close the ray towards the sun passes each segment.
  const GROUND_FRAGMENT = LIGHT + `
    uniform vec4 boneStart[${MOST_BONES}]; uniform vec3 boneEnd[${MOST_BONES}]; uniform int bones;
    uniform vec2 range; uniform float pixel; uniform vec3 eye;
    varying vec3 place, direction; varying vec2 inside;
    float shadow() {
      float light = 1.0;
      for (int k = 0; k < ${MOST_BONES}; k++) {
        if (k >= bones) break;
        vec3 u = boneEnd[k] - boneStart[k].xyz, w = place - boneStart[k].xyz;
        float uu = max(dot(u, u), 1e-6), us = dot(u, sun), uw = dot(u, w), sw = dot(sun, w);
        float along = clamp((uw - us * sw) / max(uu - us * us, 1e-6), 0.0, 1.0);
        float reach = max(along * us - sw, 0.0);
        float gap = length(w + reach * sun - along * u), radius = boneStart[k].w;
        light = min(light, smoothstep(radius * 0.85, radius * 1.1 + 0.02 * reach, gap));
      }
      return light;
    }
    void main() {
      float level = clamp(0.5 + (place.z - 0.5 * (range.x + range.y)) / max(1.6 * (range.y - range.x), 1.6), 0.0, 1.0) * 2.0;
      vec3 surface = mix(mix(vec3(0.27, 0.38, 0.47), vec3(0.69, 0.66, 0.56), min(level, 1.0)), vec3(0.90, 0.81, 0.60), max(level - 1.0, 0.0));
      vec2 edge = 0.5 - abs(inside - 0.5);
      float width = pixel * distance(eye, place);
      if (direction.z > 0.5) surface *= 1.0 - 0.16 * clamp(1.3 - min(edge.x, edge.y) / width, 0.0, 1.0);
      float sunlight = dot(direction, sun) > 0.0 ? shadow() : 0.0;
      gl_FragColor = vec4(lit(surface, direction, sunlight), 1.0);
    }`;

  function program(gl, vertex, fragment) {
    const made = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const uniforms = {};
    for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
      const name = gl.getActiveUniform(made, k).name.replace("[0]", "");
      uniforms[name] = gl.getUniformLocation(made, name);
    }
    return { handle: made, uniforms };
  }

  function upload(gl, mesh) {
    const buffers = {};
    for (const name of ["position", "normal", "corner"]) if (mesh[name]) {
      buffers[name] = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(mesh[name]), gl.STATIC_DRAW);
    }
    return { ...mesh, buffers, count: mesh.position.length / 3 };
  }

  function drawMesh(gl, used, mesh) {
    for (const [name, buffer] of Object.entries(mesh.buffers)) {
      const slot = gl.getAttribLocation(used.handle, name);
      if (slot < 0) continue;
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, name === "corner" ? 2 : 3, gl.FLOAT, false, 0, 0);
    }
    gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
  }

  // ---- motions ----------------------------------------------------------------------------------------------------

  function unpack(clip) {
    return { ...clip, colour: linear(clip.colour), shown: true,
             pos: decode(clip.pos, Uint16Array), rot: decode(clip.rot, Int16Array), contacts: decode(clip.contacts, Uint8Array) };
  }

  // Pose of one body at a time between frames: positions linear, rotations linear and renormalised the short way.
  function bodyPose(clip, bodies, body, time) {
    const at = Math.min(Math.max(time * clip.fps, 0), clip.frames - 1), first = Math.floor(at), share = at - first;
    const a = first * bodies + body, b = Math.min(first + 1, clip.frames - 1) * bodies + body;
    const position = [0, 1, 2].map((k) => clip.low[k] + clip.step[k] * ((1 - share) * clip.pos[3 * a + k] + share * clip.pos[3 * b + k]));
    const qa = Array.from(clip.rot.subarray(4 * a, 4 * a + 4)), qb = Array.from(clip.rot.subarray(4 * b, 4 * b + 4));
    const sign = qa.reduce((sum, x, k) => sum + x * qb[k], 0) < 0 ? -1 : 1;
    const rotation = normalise(qa.map((x, k) => (1 - share) * x + share * sign * qb[k]));
    return { position, rotation: turn(rotation), contact: clip.contacts[share < 0.5 ? a : b] / 255 };
  }

  // ---- one viewer -------------------------------------------------------------------------------------------------

  function element(parent, tag, properties = {}) { return parent.appendChild(Object.assign(document.createElement(tag), properties)); }

  function build(holder) {
    const data = JSON.parse(holder.querySelector("script").textContent);
    const canvas = element(holder, "canvas", { tabIndex: 0 });
    const gl = canvas.getContext("webgl", { antialias: true, stencil: true });
    if (!gl) {
      canvas.remove();
      element(holder, "div", { className: "note", textContent: "This browser shows no WebGL, so the motion cannot be replayed here." });
      holder.dataset.state = "no-webgl";
      return;
    }
    const clips = data.clips.map(unpack), bodies = data.bodies.length;
    const bodyProgram = program(gl, BODY_VERTEX, BODY_FRAGMENT), groundProgram = program(gl, GROUND_VERTEX, GROUND_FRAGMENT);
    const shapes = data.shapes.map((s) => ({ ...s, mesh: upload(gl, s.kind === "box" ? boxMesh(s.centre, s.half, s.rotation) : capsuleMesh(s.start, s.end, s.radius)) }));
    const left = data.bodies.map((name) => name.startsWith("left"));
    for (const clip of clips) {
      clip.ground = typeof clip.terrain === "number" ? clips[clip.terrain].ground : upload(gl, groundMesh(clip.terrain));
      clip.cell = typeof clip.terrain === "number" ? clips[clip.terrain].cell : clip.terrain.cell;
      const tube = { position: [], normal: [] };
      for (let k = 0; k + 1 < clip.path.length; k++) {
        const piece = capsuleMesh(add(clip.path[k], [0, 0, 0.05]), add(clip.path[k + 1], [0, 0, 0.05]), 0.02);
        for (const x of piece.position) tube.position.push(x);
        for (const x of piece.normal) tube.normal.push(x);
      }
      clip.route = tube.position.length ? upload(gl, tube) : null;
    }
    const duration = Math.max(...clips.map((c) => (c.frames - 1) / c.fps));
    const view = { azimuth: -60, elevation: 22, lift: 0, distance: 5, target: bodyPose(clips[0], bodies, 0, 0).position };
    const knees = ([x, y, z]) => [x, y, z - 0.3];
    const clear = (point, azimuth) => clearElevation(clips[0].ground.height, knees(point), azimuth, view.distance);
    const watched = Array.from({ length: 30 }, (_, k) => bodyPose(clips[0], bodies, 0, (k / 29) * duration).position);
    const hidden = (azimuth) => watched.reduce((sum, point) => sum + Math.max(clear(point, azimuth) - view.elevation, 0), 0);
    const sides = Array.from({ length: 24 }, (_, k) => view.azimuth + 15 * (k % 2 ? -(k + 1) / 2 : k / 2));  // the usual one first
    const worth = sides.map(hidden);
    view.azimuth = sides[worth.indexOf(Math.min(...worth))];
    const state = { time: 0, playing: false, speed: 1, follow: true, stale: true, before: 0 };

    // Controls
    const bar = element(holder, "div", { className: "bar" });
    const play = element(bar, "button", { textContent: "Play", type: "button" });
    const slider = element(bar, "input", { type: "range", min: 0, max: duration || 1, step: "any", value: 0 });
    const clock = element(bar, "span", { className: "time" });
    const speed = element(bar, "select", { title: "speed" });
    for (const x of [0.1, 0.25, 0.5, 1, 2]) element(speed, "option", { value: x, textContent: x + "×", selected: x === 1 });
    const followLabel = element(bar, "label"), follow = element(followLabel, "input", { type: "checkbox", checked: true });
    followLabel.append(" follow");
    const toggles = element(bar, "div", { className: "motions" });
    for (const clip of clips) {
      const line = element(toggles, "label"), box = element(line, "input", { type: "checkbox", checked: true });
      line.append(" " + clip.name);
      line.style.color = data.clips[clips.indexOf(clip)].colour;
      box.onchange = () => { clip.shown = box.checked; state.stale = true; };
    }
    const setPlaying = (on) => {
      if (on && state.time >= duration - 1e-6) state.time = 0;
      state.playing = on; state.stale = true; play.textContent = on ? "Pause" : "Play";
    };
    play.onclick = () => setPlaying(!state.playing);
    slider.oninput = () => { state.time = Number(slider.value); setPlaying(false); };
    speed.onchange = () => { state.speed = Number(speed.value); };
    follow.onchange = () => { state.follow = follow.checked; state.stale = true; };
    canvas.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === " ") setPlaying(!state.playing);
      else if (step) { state.time = Math.min(Math.max(state.time + step / clips[0].fps, 0), duration); setPlaying(false); }
      else return;
      event.preventDefault();
    };

    // Orbit
    const axes = () => {
      const elevation = state.follow ? Math.max(view.elevation, view.lift) : view.elevation;
      const a = (view.azimuth * Math.PI) / 180, e = (elevation * Math.PI) / 180;
      const back = [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e)];
      const right = normalise(cross([0, 0, 1], back));
      return { back, right, up: cross(back, right) };
    };
    canvas.onpointerdown = (event) => canvas.setPointerCapture(event.pointerId);
    canvas.oncontextmenu = (event) => event.preventDefault();
    canvas.onpointermove = (event) => {
      if (!event.buttons) return;
      if (event.shiftKey || event.buttons & 2) {
        const { right, up } = axes(), scale = view.distance / canvas.clientHeight;
        view.target = add(add(view.target, right, -event.movementX * scale), up, event.movementY * scale);
        state.follow = follow.checked = false;
      } else {
        view.azimuth -= 0.4 * event.movementX;
        view.elevation = Math.min(Math.max(view.elevation + 0.3 * event.movementY, -10), 89);
      }
      state.stale = true;
    };
    canvas.addEventListener("wheel", (event) => {
      view.distance = Math.min(Math.max(view.distance * Math.exp(0.001 * event.deltaY), 1), 80);
      state.stale = true;
      event.preventDefault();
    }, { passive: false });
    new ResizeObserver(() => { state.stale = true; }).observe(canvas);

    function cameraMatrix() {
      const { back, right, up } = axes(), eye = add(view.target, back, view.distance);
      const near = 0.05, far = 200, f = 1 / Math.tan((17 * Math.PI) / 180), aspect = canvas.width / canvas.height;
      const look = [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
      const lens = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
      return { eye, matrix: multiply(lens, look), pixel: 2 / (f * canvas.height) };
    }

    function draw() {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      canvas.width = Math.max(Math.round(canvas.clientWidth * ratio), 1);
      canvas.height = Math.max(Math.round(canvas.clientHeight * ratio), 1);
      const shown = clips.filter((c) => c.shown);
      const poses = shown.map((c) => data.bodies.map((_, b) => bodyPose(c, bodies, b, state.time)));
      if (state.follow && poses.length) view.target = view.target.map((x, k) => x + (poses[0][0].position[k] - x) * (state.playing ? 0.15 : 1));
      // Over walls that would hide the body.
      const above = clear(view.target, view.azimuth) + 4;
      view.lift += (above - view.lift) * (state.playing ? 0.1 : 1);
      const camera = cameraMatrix();
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.enable(gl.DEPTH_TEST);
      gl.clearColor(0.914, 0.933, 0.953, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);

      gl.useProgram(groundProgram.handle);
      const starts = [], ends = [];
      poses.forEach((pose) => shapes.forEach((s) => {
        if (starts.length >= 4 * MOST_BONES) return;
        const { position, rotation } = pose[s.body];
        const a = s.kind === "box" ? add(s.centre, [s.half[0] - s.half[2], 0, 0], -1) : s.start;
        const b = s.kind === "box" ? add(s.centre, [s.half[0] - s.half[2], 0, 0]) : s.end;
        starts.push(...add(position, rotate(rotation, a)), s.kind === "box" ? Math.min(s.half[0], s.half[1]) : s.radius);
        ends.push(...add(position, rotate(rotation, b)));
      }));
      const g = groundProgram.uniforms;
      gl.uniformMatrix4fv(g.camera, false, camera.matrix);
      gl.uniform3fv(g.sun, SUN);
      gl.uniform3fv(g.eye, camera.eye);
      gl.uniform1i(g.bones, starts.length / 4);
      if (starts.length) { gl.uniform4fv(g.boneStart, starts); gl.uniform3fv(g.boneEnd, ends); }
      for (const ground of new Set((shown.length ? shown : clips).map((c) => c.ground))) {
        gl.uniform2fv(g.range, ground.range);
        gl.uniform1f(g.pixel, camera.pixel / clips.find((c) => c.ground === ground).cell);
        drawMesh(gl, groundProgram, ground);
      }

      gl.useProgram(bodyProgram.handle);
      const u = bodyProgram.uniforms;
      gl.uniformMatrix4fv(u.camera, false, camera.matrix);
      gl.uniform3fv(u.sun, SUN);
      gl.uniform3fv(u.eye, camera.eye);
      gl.uniform1f(u.behind, 0);
      for (const clip of shown) if (clip.route) {
        gl.uniformMatrix3fv(u.rotation, false, [1, 0, 0, 0, 1, 0, 0, 0, 1]);
        gl.uniform3fv(u.origin, [0, 0, 0]);
        gl.uniform3fv(u.colour, PATH);
        drawMesh(gl, bodyProgram, clip.route);
      }
      const figure = (clip, n) => {
        for (const shape of shapes) {
          const pose = poses[n][shape.body];
          const own = left[shape.body] ? clip.colour.map((x) => x + 0.22 * (1 - x)) : clip.colour;
          gl.uniformMatrix3fv(u.rotation, false, pose.rotation);
          gl.uniform3fv(u.origin, pose.position);
          gl.uniform3fv(u.colour, own.map((x, k) => x + pose.contact * (CONTACT[k] - x)));
          drawMesh(gl, bodyProgram, shape.mesh);
        }
      };
      // Bodies that nearly coincide would show through each other in patches: over the first one the others are drawn only where
      // they are clearly nearer, elsewhere as they are.
      gl.enable(gl.STENCIL_TEST);
      gl.stencilOp(gl.KEEP, gl.KEEP, gl.REPLACE);
      gl.stencilFunc(gl.ALWAYS, 1, 255);
      if (shown.length) figure(shown[0], 0);
      gl.stencilOp(gl.KEEP, gl.KEEP, gl.KEEP);
      for (const [test, behind] of [[gl.NOTEQUAL, 0], [gl.EQUAL, CLEARLY]]) {
        gl.stencilFunc(test, 1, 255);
        gl.uniform1f(u.behind, behind);
        shown.slice(1).forEach((clip, n) => figure(clip, n + 1));
      }
      gl.disable(gl.STENCIL_TEST);
      const { back } = axes();
      holder.dataset.view = [Math.atan2(back[1], back[0]), Math.asin(back[2])].map((x) => Math.round((x * 180) / Math.PI)).join(" ");
      slider.value = state.time;
      clock.textContent = `${state.time.toFixed(2)} / ${duration.toFixed(2)} s`;
    }

    function tick(now) {
      if (holder.dataset.state === "closed") return;
      const elapsed = Math.min((now - state.before) / 1000, 0.1);
      state.before = now;
      if (state.playing) {
        state.time += elapsed * state.speed;
        if (state.time >= duration) state.time = duration > 0 ? state.time % duration : 0;
      }
      if (state.playing || state.stale) { state.stale = false; draw(); }
      requestAnimationFrame(tick);
    }
    draw();
    holder.dataset.state = "ready";
    requestAnimationFrame(tick);
    if (holder.classList.contains("lazy")) setPlaying(true);
    return () => {
      holder.dataset.state = "closed";
      gl.getExtension("WEBGL_lose_context")?.loseContext();
      canvas.remove();
      bar.remove();
    };
  }

  const MOST_OPEN = 3, opened = [];
  function open(holder) {
    if (holder.dataset.state === "ready" || holder.dataset.state === "no-webgl") return;
    while (opened.length >= MOST_OPEN) opened.shift()();
    const close = build(holder);
    if (close) opened.push(close);
  }
  for (const holder of document.querySelectorAll(".replay")) {
    if (!holder.classList.contains("lazy")) { build(holder); continue; }
    holder.querySelector("img").onclick = () => open(holder);
    holder.onkeydown = (event) => { if (event.key === "Enter" && event.target === holder) open(holder); };
  }
})();
