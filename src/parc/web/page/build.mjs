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
const COPYRIGHT = { "@mujoco/mujoco": "Copyright 2021 DeepMind Technologies Limited", "onnxruntime-web": "Copyright (c) Microsoft Corporation" };
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
  const text = { MIT: mit, "Apache-2.0": read("flatbuffers/LICENSE") }[licence];
  if (!text) throw new Error(`${name} holds no text of its licence ${licence}`);
  return `${COPYRIGHT[name] ?? ""}\n\n${text}`;
};
// What the WebAssembly of a package holds of others: notices.txt, whose sections name the package with its version.
const inside = fs.readFileSync(path.join(here, "notices.txt"), "utf8").split(/^=== /m).slice(1).map((section) => {
  const [head, ...lines] = section.split("\n");
  const [holder, name, licence] = head.split(" | ");
  return { name, version: "", licence, inside: holder, text: lines.join("\n").trim() };
});
const licences = [...names].sort().flatMap((name) => {
  const { version, license } = JSON.parse(read(path.join(name, "package.json")));
  const parts = inside.filter((part) => part.inside.startsWith(`${name} `));
  const other = parts.find((part) => part.inside !== `${name} ${version}`);
  if (other) throw new Error(`notices.txt is for ${other.inside}, and this is version ${version}: look at its notices again`);
  return [{ name, version, licence: license, text: textOf(name, license) }, ...parts];
});
const own = JSON.parse(fs.readFileSync(path.join(here, "package.json"), "utf8"));
const told = `The page, its two networks and the mannequin are part of parc. The networks were trained on motions derived from the CMU Graphics Lab Motion Capture Database (mocap.cs.cmu.edu, NSF EIA-0196217), amazon-far/holosoma (Apache-2.0) and xbpeng/DeepMimic (MIT); none of that data is here.`;
licences.unshift({ name: "parc", version: "", licence: own.license, text: `${told}\n\nCopyright (c) 2026 the parc authors\n\n${mit}` });
fs.writeFileSync(path.join(out, "licences.json"), JSON.stringify(licences));
