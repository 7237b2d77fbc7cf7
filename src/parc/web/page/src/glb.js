// What happened as one GLB file: the ground, and the skinned mannequin with its motion. Ours is z up, glTF y up: one node turns.

const FLOAT = 5126;
const COMPONENTS = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };

/** history: Float32Array of frames * bodies * 7; skin: see mannequin.js; ground: {positions, colors, indices}. A Blob. */
export function writeGlb({ history, frames, fps, names, skin, ground }) {
  const file = new Parts();
  const bodies = names.length;
  const times = Float32Array.from({ length: frames }, (_, n) => n / fps);
  const time = file.add(times, "SCALAR", FLOAT, { min: [0], max: [times.at(-1)] });
  const nodes = [
    { name: "parc", rotation: [-Math.SQRT1_2, 0, 0, Math.SQRT1_2], children: [1, 2, ...names.map((_, b) => b + 3)] },
    { name: "ground", mesh: 0 },
    { name: "mannequin", mesh: 1, skin: 0 },
  ];
  const [samplers, channels] = [[], []];
  const inverse = new Float32Array(16 * bodies);
  for (let b = 0; b < bodies; b++) {
    const place = new Float32Array(3 * frames);
    const turn = new Float32Array(4 * frames);
    for (let n = 0; n < frames; n++) {
      const at = (n * bodies + b) * 7;
      place.set(history.subarray(at, at + 3), 3 * n);
      turn.set(history.subarray(at + 3, at + 7), 4 * n);
      const last = turn.subarray(4 * n - 4, 4 * n);
      const now = turn.subarray(4 * n, 4 * n + 4);
      if (n && last.reduce((sum, v, k) => sum + v * now[k], 0) < 0) now.forEach((v, k) => (now[k] = -v)); // the short way round
    }
    nodes.push({ name: names[b], translation: [...place.subarray(0, 3)], rotation: [...turn.subarray(0, 4)] });
    for (const [path, values, type] of [["translation", place, "VEC3"], ["rotation", turn, "VEC4"]]) {
      channels.push({ sampler: samplers.length, target: { node: b + 3, path } });
      samplers.push({ input: time, output: file.add(values, type), interpolation: "LINEAR" });
    }
    inverse.set([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, ...skin.origins.subarray(3 * b, 3 * b + 3).map((v) => -v), 1], 16 * b);
  }
  const colour = (red, green, blue, roughness) => ({
    pbrMetallicRoughness: { baseColorFactor: [red, green, blue, 1], metallicFactor: 0, roughnessFactor: roughness },
  });
  const gltf = {
    asset: { version: "2.0", generator: "parc page" },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes,
    skins: [{ joints: names.map((_, b) => b + 3), inverseBindMatrices: file.add(inverse, "MAT4") }],
    materials: [colour(0.62, 0.62, 0.6, 0.95), colour(0.86, 0.82, 0.76, 0.55)],
    meshes: [
      {
        name: "ground",
        primitives: [{ attributes: { POSITION: file.addPlaces(ground.positions) }, indices: file.addIndices(ground.indices), material: 0 }],
      },
      {
        name: "mannequin",
        primitives: [
          {
            attributes: {
              POSITION: file.addPlaces(skin.positions),
              NORMAL: file.add(skin.normals, "VEC3", FLOAT, { target: 34962 }),
              JOINTS_0: file.add(Uint8Array.from(skin.joints), "VEC4", 5121, { target: 34962 }),
              WEIGHTS_0: file.add(skin.weights, "VEC4", FLOAT, { target: 34962 }),
            },
            indices: file.addIndices(skin.indices),
            material: 1,
          },
        ],
      },
    ],
    animations: [{ name: "run", samplers, channels }],
  };
  return file.close(gltf);
}

/** Buffer views one after another, each padded to four bytes. */
class Parts {
  chunks = [];
  views = [];
  accessors = [];
  length = 0;

  add(values, type, componentType = FLOAT, { min, max, target } = {}) {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    this.views.push({ buffer: 0, byteOffset: this.length, byteLength: bytes.length, ...(target && { target }) });
    this.chunks.push(padded);
    this.length += padded.length;
    const count = values.length / COMPONENTS[type];
    return this.accessors.push({ bufferView: this.views.length - 1, componentType, count, type, ...(min && { min, max }) }) - 1;
  }

  addPlaces(values) {
    const [min, max] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    values.forEach((v, k) => {
      min[k % 3] = Math.min(min[k % 3], v);
      max[k % 3] = Math.max(max[k % 3], v);
    });
    return this.add(Float32Array.from(values), "VEC3", FLOAT, { min, max, target: 34962 });
  }

  addIndices(values) {
    return this.add(Uint32Array.from(values), "SCALAR", 5125, { target: 34963 });
  }

  close(gltf) {
    const full = { ...gltf, buffers: [{ byteLength: this.length }], bufferViews: this.views, accessors: this.accessors };
    const text = new TextEncoder().encode(JSON.stringify(full));
    const json = new Uint8Array(Math.ceil(text.length / 4) * 4).fill(32);
    json.set(text);
    const word = (...values) => new Uint8Array(Uint32Array.from(values).buffer);
    const total = 12 + 8 + json.length + 8 + this.length;
    const parts = [word(0x46546c67, 2, total), word(json.length, 0x4e4f534a), json, word(this.length, 0x004e4942), ...this.chunks];
    return new Blob(parts, { type: "model/gltf-binary" });
  }
}
