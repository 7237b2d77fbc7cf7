// The ground as one mesh: tops, walls and a plinth that fades out, with corners darkened where something stands beside them.

import * as THREE from "three";

const PLINTH = 1.6; // m that the map's sides are drawn below its lowest cell
const BESIDE = 0.08; // m of height that casts a soft shade on its neighbour

export const THEMES = {
  light: {
    back: 0xe6eaee, low: 0xa3b1bf, level: 0xd5dbe1, high: 0xfbfbf8, wall: 0.86, line: 0x33404f, lineShare: 0.13, edgeShare: 0.42,
    sky: 0xffffff, earth: 0xaab0b8, sun: 0xfff6ea, sunPower: 2.0, skyPower: 1.75, body: 0xf09a72, ghost: 0.2, accent: 0xe2481f, plan: 0x2f6fed,
  },
  dark: {
    back: 0x12151b, low: 0x2b3340, level: 0x465062, high: 0x8290a6, wall: 0.95, line: 0xdbe4f4, lineShare: 0.07, edgeShare: 0.3,
    sky: 0xb9c8e6, earth: 0x6d7686, sun: 0xfff1e0, sunPower: 2.5, skyPower: 1.7, body: 0xf2ede4, ghost: 0.3, accent: 0xff7448, plan: 0x6fb2ff,
  },
};

/** Positions, colours and triangles of a terrain; also the lines along its edges and its grid. */
export function groundShape(terrain, theme) {
  const shape = { positions: [], normals: [], colors: [], indices: [] };
  const { rows, columns, cell } = terrain;
  const half = cell / 2;
  const colour = (height) => shade(theme, height);
  const quad = (corners, normal, colors, flip = false) => {
    const first = shape.positions.length / 3;
    corners.forEach((corner, k) => {
      shape.positions.push(...corner);
      shape.normals.push(...normal);
      shape.colors.push(colors[k].r, colors[k].g, colors[k].b);
    });
    shape.indices.push(...(flip ? [0, 1, 3, 1, 2, 3] : [0, 1, 2, 0, 2, 3]).map((k) => first + k));
  };
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const [x, y] = terrain.centreOf(i, j);
      const z = terrain.at(i, j);
      const around = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
      const shades = around.map(([a, b]) => {
        const sides = [terrain.at(i + a, j), terrain.at(i, j + b)].map((h) => (h > z + BESIDE ? 1 : 0));
        const corner = terrain.at(i + a, j + b) > z + BESIDE ? 1 : 0;
        return 1 - 0.13 * (sides[0] && sides[1] ? 3 : sides[0] + sides[1] + corner);
      });
      const own = colour(z);
      const corners = around.map(([a, b]) => [x + a * half, y + b * half, z]);
      quad(corners, [0, 0, 1], shades.map((s) => own.clone().multiplyScalar(s)), shades[0] + shades[2] < shades[1] + shades[3]);
      for (const [a, b] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        const below = terrain.at(i + a, j + b);
        if (below > z - 1e-4) continue;
        const [u, v] = [-b, a];
        const side = (s, height) => [x + a * half + s * u * half, y + b * half + s * v * half, height];
        const top = own.clone().multiplyScalar(theme.wall);
        const foot = colour(below).multiplyScalar(theme.wall * (z - below > 0.3 ? 0.74 : 0.86));
        quad([side(-1, below), side(1, below), side(1, z), side(-1, z)], [a, b, 0], [foot, foot, top, top]);
      }
    }
  }
  addPlinth(terrain, theme, quad, colour);
  return shape;
}

function shade(theme, height) {
  const level = new THREE.Color(theme.level);
  return height < 0 ? level.lerp(new THREE.Color(theme.low), Math.min(-height / 1.6, 1)) : level.lerp(new THREE.Color(theme.high), Math.min(height / 1.8, 1));
}

/** The map stands on a plinth, whose sides fade into the background. */
function addPlinth(terrain, theme, quad, colour) {
  const { rows, columns, cell } = terrain;
  const [x0, y0, x1, y1] = terrain.extent;
  const back = new THREE.Color(theme.back);
  const foot = Math.min(...terrain.heights) - PLINTH;
  const side = (ax, ay, bx, by, normal, z) => {
    const top = colour(z).multiplyScalar(theme.wall);
    quad([[ax, ay, foot], [bx, by, foot], [bx, by, z], [ax, ay, z]], normal, [back, back, top, top]);
  };
  for (let i = 0; i < rows; i++) {
    const [low, high] = [x0 + i * cell, x0 + (i + 1) * cell];
    side(low, y0, high, y0, [0, -1, 0], terrain.at(i, 0));
    side(high, y1, low, y1, [0, 1, 0], terrain.at(i, columns - 1));
  }
  for (let j = 0; j < columns; j++) {
    const [low, high] = [y0 + j * cell, y0 + (j + 1) * cell];
    side(x0, high, x0, low, [-1, 0, 0], terrain.at(0, j));
    side(x1, low, x1, high, [1, 0, 0], terrain.at(rows - 1, j));
  }
}

/** Line segments [x, y, z] x 2: along steps in height, and between all cells. */
export function groundLines(terrain) {
  const [edges, grid] = [[], []];
  const half = terrain.cell / 2;
  const lift = 0.004;
  for (let i = 0; i < terrain.rows; i++) {
    for (let j = 0; j < terrain.columns; j++) {
      const [x, y] = terrain.centreOf(i, j);
      const z = terrain.at(i, j);
      for (const [a, b] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        const onMap = i + a >= 0 && j + b >= 0 && i + a < terrain.rows && j + b < terrain.columns;
        const other = onMap ? terrain.at(i + a, j + b) : -Infinity;
        const line = [x + a * half - b * half, y + b * half + a * half, z + lift, x + a * half + b * half, y + b * half - a * half, z + lift];
        if (other < z - 0.02) edges.push(...line);
        else if (Math.abs(other - z) <= 0.02 && (a > 0 || b > 0)) grid.push(...line);
      }
    }
  }
  return { edges, grid };
}

/** The ground in the scene; `set` draws another terrain. */
export class Ground {
  constructor() {
    this.group = new THREE.Group();
    this.material = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.96, metalness: 0 });
    this.edgeMaterial = new THREE.LineBasicMaterial({ transparent: true });
    this.gridMaterial = new THREE.LineBasicMaterial({ transparent: true });
    this.mesh = new THREE.Mesh(new THREE.BufferGeometry(), this.material);
    this.mesh.receiveShadow = this.mesh.castShadow = true;
    this.edges = new THREE.LineSegments(new THREE.BufferGeometry(), this.edgeMaterial);
    this.grid = new THREE.LineSegments(new THREE.BufferGeometry(), this.gridMaterial);
    this.group.add(this.mesh, this.edges, this.grid);
  }

  set(terrain, theme) {
    const shape = groundShape(terrain, theme);
    const fill = (object, parts) => {
      object.geometry.dispose();
      object.geometry = new THREE.BufferGeometry();
      for (const [name, values] of Object.entries(parts)) object.geometry.setAttribute(name, new THREE.Float32BufferAttribute(values, 3));
    };
    fill(this.mesh, { position: shape.positions, normal: shape.normals, color: shape.colors });
    this.mesh.geometry.setIndex(shape.indices);
    const lines = groundLines(terrain);
    fill(this.edges, { position: lines.edges });
    fill(this.grid, { position: lines.grid });
    for (const [material, share] of [[this.edgeMaterial, theme.edgeShare], [this.gridMaterial, theme.lineShare]]) {
      material.color.set(theme.line);
      material.opacity = share;
    }
  }
}
