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

// The licence of every package that is in the bundle.
const names = new Set(["@mujoco/mujoco", "onnxruntime-web"]);
for (const file of Object.keys(result.metafile.inputs)) {
  const found = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) names.add(found[1]);
}
const licences = [...names].sort().map((name) => {
  const folder = path.join(modules, name);
  const { version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = fs.readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file ? fs.readFileSync(path.join(folder, file), "utf8") : `${name} is under the licence ${license}; its package holds no text of it.`;
  return { name, version, licence: license, text };
});
fs.writeFileSync(path.join(out, "licences.json"), JSON.stringify(licences));
