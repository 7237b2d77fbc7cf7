// Bundles the page: node build.mjs OUT. Third-party packages come from node_modules beside this file.

import { build } from "esbuild";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";

const out = path.resolve(process.argv[2] ?? "dist");
const here = path.dirname(new URL(import.meta.url).pathname);
const modules = path.join(here, "node_modules");
fs.mkdirSync(out, { recursive: true });

const result = await build({
  entryPoints: { page: path.join(here, "src/page.js"), worker: path.join(here, "src/worker.js") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  metafile: true,
  legalComments: "none",
  external: ["node:*", "module", "worker_threads", "fs", "path", "url", "os", "perf_hooks"],
  logLevel: "error",
});

for (const name of ["index.html", "style.css"]) fs.copyFileSync(path.join(here, name), path.join(out, name));
const packed = { "mujoco.wasm.gz": "@mujoco/mujoco/mujoco.wasm", "ort.wasm.gz": "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm" };
for (const [name, file] of Object.entries(packed)) {
  fs.writeFileSync(path.join(out, name), zlib.gzipSync(fs.readFileSync(path.join(modules, file)), { level: 9 }));
}

// The licence of every package that is in the bundle. Two packages hold no text of theirs.
const COPYRIGHT = { "onnxruntime-web": "Copyright (c) Microsoft Corporation" };
const INSIDE = {
  "@mujoco/mujoco": "The engine's WebAssembly holds parts of libccd (BSD-3-Clause), Qhull (Qhull licence), TinyXML-2 (zlib), tinyobjloader (MIT), MarchingCubeCpp (public domain), LodePNG (zlib), miniz (MIT) and Emscripten's system libraries (MIT).",
  "onnxruntime-web": "The WebAssembly holds parts of ONNX (Apache-2.0), Protocol Buffers (BSD-3-Clause), FlatBuffers (Apache-2.0), Abseil (Apache-2.0), RE2 (BSD-3-Clause), Eigen (MPL-2.0), nlohmann/json (MIT), GSL (MIT) and Emscripten's system libraries (MIT).",
};
const names = new Set(["@mujoco/mujoco", "onnxruntime-web"]);
for (const file of Object.keys(result.metafile.inputs)) {
  const found = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) names.add(found[1]);
}
const read = (file) => fs.readFileSync(path.join(modules, file), "utf8");
const mit = read("three/LICENSE").replace(/^[\s\S]*?(?=Permission)/, "");
const textOf = (name, licence) => {
  const file = fs.readdirSync(path.join(modules, name)).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (file) return read(path.join(name, file));
  if (licence === "MIT") return `${COPYRIGHT[name] ?? ""}\n\n${mit}`;
  if (licence === "Apache-2.0") return read("flatbuffers/LICENSE");
  throw new Error(`${name} holds no text of its licence ${licence}`);
};
const licences = [...names].sort().map((name) => {
  const { version, license } = JSON.parse(read(path.join(name, "package.json")));
  return { name, version, licence: license, text: [INSIDE[name], textOf(name, license)].filter(Boolean).join("\n\n") };
});
const own = JSON.parse(fs.readFileSync(path.join(here, "package.json"), "utf8"));
licences.unshift({ name: "parc", version: "", licence: own.license, text: `The page, its two networks and the mannequin are part of parc.\n\nCopyright (c) 2026 the parc authors\n\n${mit}` });
fs.writeFileSync(path.join(out, "licences.json"), JSON.stringify(licences));
