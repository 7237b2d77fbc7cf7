// A link that holds ground and seed: heights in millimetres, each as the difference from the cell before, deflated, in base64url.

import { Terrain, MOST_CELLS, HIGHEST, LOWEST } from "./terrain.js";

const VERSION = 1;

/** The part of an address after "#". */
export async function writeLink({ terrain, seed, kind, start }) {
  const { rows, columns, heights } = terrain;
  const head = 14;
  const bytes = new Uint8Array(head + 2 * heights.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, VERSION);
  view.setUint8(1, rows);
  view.setUint8(2, columns);
  view.setUint8(3, start[0]);
  view.setUint8(4, start[1]);
  view.setUint32(6, seed >>> 0, true);
  let before = 0;
  heights.forEach((height, k) => {
    const now = Math.round(height * 1000);
    view.setInt16(head + 2 * k, now - before, true);
    before = now;
  });
  return `g=${toText(await through(bytes, new CompressionStream("deflate-raw")))}&k=${kind}`;
}

/** What a link holds, or null for an address without one; throws a sentence for one that is damaged. */
export async function readLink(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const text = fields.get("g");
  if (text === null) return null;
  try {
    const bytes = await through(fromText(text), new DecompressionStream("deflate-raw"));
    const view = new DataView(bytes.buffer);
    const [version, rows, columns] = bytes;
    if (version !== VERSION || rows < 5 || columns < 5 || rows > MOST_CELLS || columns > MOST_CELLS) throw new Error("size");
    if (bytes.length !== 14 + 2 * rows * columns) throw new Error("length");
    const heights = new Float32Array(rows * columns);
    let now = 0;
    for (let k = 0; k < heights.length; k++) {
      now += view.getInt16(14 + 2 * k, true);
      heights[k] = now / 1000;
      if (heights[k] > HIGHEST + 1e-3 || heights[k] < LOWEST - 1e-3) throw new Error("height");
    }
    const start = [Math.min(bytes[3], rows - 1), Math.min(bytes[4], columns - 1)];
    return { terrain: new Terrain(rows, columns, heights), seed: view.getUint32(6, true), start, kind: fields.get("k") ?? "flat" };
  } catch {
    throw new Error("This link is damaged: its ground cannot be read, so you get new ground.");
  }
}

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

function toText(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromText(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}
