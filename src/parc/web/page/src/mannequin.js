// The mannequin's skin from mannequin.bin: numbers of vertices, triangles and bodies (uint32 each), then positions, normals and
// weights (float32), origins of the bodies (float32), indices (uint32), joints (uint8).

import * as THREE from "three";

export function readSkin(buffer) {
  const [vertices, triangles, bodies] = new Uint32Array(buffer, 0, 3);
  let at = 12;
  const take = (Kind, count) => {
    const part = new Kind(buffer, at, count);
    at += part.byteLength;
    return part;
  };
  return {
    bodies,
    positions: take(Float32Array, 3 * vertices),
    normals: take(Float32Array, 3 * vertices),
    weights: take(Float32Array, 4 * vertices),
    origins: take(Float32Array, 3 * bodies),
    indices: take(Uint32Array, 3 * triangles),
    joints: take(Uint8Array, 4 * vertices),
  };
}

/** A skinned figure whose bones are set from where the bodies are. */
export class Mannequin {
  constructor(skin, material) {
    this.bodies = skin.bodies;
    if (!skin.geometry) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(skin.positions, 3));
      geometry.setAttribute("normal", new THREE.BufferAttribute(skin.normals, 3));
      geometry.setAttribute("skinWeight", new THREE.BufferAttribute(skin.weights, 4));
      geometry.setAttribute("skinIndex", new THREE.BufferAttribute(skin.joints, 4));
      geometry.setIndex(new THREE.BufferAttribute(skin.indices, 1));
      skin.geometry = geometry;
    }
    this.bones = Array.from({ length: skin.bodies }, () => new THREE.Bone());
    const inverses = this.bones.map((_, b) => new THREE.Matrix4().makeTranslation(...skin.origins.subarray(3 * b, 3 * b + 3).map((v) => -v)));
    this.mesh = new THREE.SkinnedMesh(skin.geometry, material);
    this.mesh.bindMode = THREE.DetachedBindMode;
    this.mesh.bind(new THREE.Skeleton(this.bones, inverses), new THREE.Matrix4());
    this.mesh.frustumCulled = false;
    this.group = new THREE.Group();
    this.group.add(this.mesh, ...this.bones);
  }

  /** Bodies between two states, 7 numbers each: `share` of the way from `a` to `b`. */
  place(a, b = a, share = 0) {
    const [from, to] = [new THREE.Quaternion(), new THREE.Quaternion()];
    this.bones.forEach((bone, n) => {
      const k = 7 * n;
      bone.position.set(a[k] + share * (b[k] - a[k]), a[k + 1] + share * (b[k + 1] - a[k + 1]), a[k + 2] + share * (b[k + 2] - a[k + 2]));
      bone.quaternion.copy(from.fromArray(a, k + 3).slerp(to.fromArray(b, k + 3), share));
    });
  }
}
