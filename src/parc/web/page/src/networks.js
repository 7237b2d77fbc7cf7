// The two networks of `parc export onnx`, in onnxruntime's WebAssembly: they take and give plain arrays.

import * as ort from "onnxruntime-web/wasm";

export class Networks {
  /** binary: onnxruntime's WebAssembly; generator, tracker: the files; body: body.json. */
  static async load({ binary, glue, generator, tracker, body }, onStep) {
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.proxy = false;
    ort.env.wasm.wasmBinary = binary;
    if (glue) ort.env.wasm.wasmPaths = { mjs: glue };
    ort.env.logLevel = "error";
    const networks = new Networks();
    networks.body = body;
    networks.generator = await session(generator, "generator");
    onStep();
    networks.tracker = await session(tracker, "tracker");
    return networks;
  }

  setTerrain(terrain) {
    this.ground = {
      terrain: tensor(terrain.heights.slice(), [1, terrain.rows, terrain.columns]),
      terrain_min: tensor(Float32Array.from(terrain.low), [1, 2]),
    };
  }

  /** The next frames: {qpos, contacts}, each a Float32Array of all frames after one another. */
  async window(qpos, contacts, target, noise) {
    const { nq, names, noise: size } = this.body;
    const result = await this.generator.run({
      qpos: tensor(qpos, [1, 2, nq]),
      contacts: tensor(contacts, [1, 2, names.length]),
      has_past: tensor(Float32Array.of(1), [1]),
      target: tensor(Float32Array.from(target), [1, 2]),
      ...this.ground,
      noise: tensor(noise, [1, ...size]),
    });
    return { qpos: result.next_qpos.data, contacts: result.next_contacts.data };
  }

  /** Motor targets and what the tracker holds until the next control step. */
  async act(state, referenceQpos, referenceContacts) {
    const { nq, nv, names, motors, looks } = this.body;
    const bodies = names.length;
    const result = await this.tracker.run({
      qpos: tensor(Float32Array.from(state.qpos), [1, nq]),
      qvel: tensor(Float32Array.from(state.qvel), [1, nv]),
      contacts: tensor(state.contacts, [1, bodies]),
      held: tensor(state.held, [1, motors]),
      reference_qpos: tensor(referenceQpos, [1, looks.length, nq]),
      reference_contacts: tensor(referenceContacts, [1, looks.length, bodies]),
      ...this.ground,
    });
    return { targets: result.targets.data, held: result.next_held.data };
  }
}

function tensor(data, dims) {
  return new ort.Tensor("float32", data, dims);
}

async function session(bytes, name) {
  try {
    return await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"], graphOptimizationLevel: "all", logSeverityLevel: 4 });
  } catch {
    throw new Error(`The model file models/${name}.onnx cannot be read: it is damaged or was made for another version of this page.`);
  }
}
