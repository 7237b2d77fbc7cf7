// Files of the page's own folder. Large ones are stored packed (gzip), so that a host that does not pack sends little all the same;
// a host that unpacks them on the way is fine too.

/** The bytes of a file; `onProgress(got, all)` as they come. */
export async function readAsset(address, onProgress = () => {}) {
  const name = address.pathname.split("/").at(-1);
  let answer;
  try {
    answer = await fetch(address);
  } catch {
    throw new Error(`The file ${name} cannot be fetched: is the page's folder served whole, over http?`);
  }
  if (!answer.ok) throw new Error(`The file ${name} is missing from the page's folder (${answer.status}).`);
  const all = Number(answer.headers.get("content-length")) || 0;
  const chunks = [];
  let got = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    got += value.length;
    onProgress(got, Math.max(all, got));
  }
  const blob = new Blob(chunks);
  const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const packed = name.endsWith(".gz") && head[0] === 0x1f && head[1] === 0x8b;
  try {
    return await (packed ? new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))) : blob).arrayBuffer();
  } catch {
    throw new Error(`The file ${name} is damaged: it cannot be unpacked.`);
  }
}
