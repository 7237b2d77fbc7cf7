// What is drawn: ground, mannequin, the plan as a ghost, the way, the goal, the brush; sun and shadows; a camera that follows.

import * as THREE from "three";
import { Ground, THEMES } from "./ground.js";
import { Mannequin } from "./mannequin.js";
import { clamp } from "./terrain.js";

const LEAST_SHARE = 0.5; // of the screen's resolution that a slow machine is drawn at

export class View {
  constructor(canvas, skin) {
    this.canvas = canvas;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(42, 1, 0.1, 120);
    this.camera.up.set(0, 0, 1);
    this.orbit = { azimuth: -2.3, elevation: 0.42, distance: 5.2 };
    this.focus = new THREE.Vector3(0, 0, 0.9);
    this.follows = true;
    this.share = 1;
    this.slow = 0;

    this.ground = new Ground();
    this.bodyMaterial = new THREE.MeshPhysicalMaterial({ roughness: 0.46, metalness: 0, clearcoat: 0.25, clearcoatRoughness: 0.5 });
    this.ghostMaterial = new THREE.MeshStandardMaterial({ transparent: true, opacity: 0.26, roughness: 1, depthWrite: false });
    this.mannequin = new Mannequin(skin, this.bodyMaterial);
    this.mannequin.mesh.castShadow = this.mannequin.mesh.receiveShadow = true;
    this.ghost = new Mannequin(skin, this.ghostMaterial);
    this.ghost.group.visible = false;

    this.wayMaterial = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.85 });
    this.way = new THREE.InstancedMesh(new THREE.CircleGeometry(0.034, 20), this.wayMaterial, 512);
    this.way.count = 0;
    this.way.frustumCulled = false;
    this.planMaterial = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9 });
    this.planLine = new THREE.InstancedMesh(new THREE.SphereGeometry(0.016, 12, 8), this.planMaterial, 128);
    this.planLine.frustumCulled = false;
    this.goal = new THREE.Group();
    this.goalMaterial = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.95, side: THREE.DoubleSide });
    this.goalRing = new THREE.Mesh(new THREE.RingGeometry(0.3, 0.36, 48), this.goalMaterial);
    this.goalDisc = new THREE.Mesh(new THREE.CircleGeometry(0.09, 32), this.goalMaterial);
    this.goal.add(this.goalRing, this.goalDisc);
    this.goal.visible = false;
    this.brush = new THREE.Mesh(new THREE.RingGeometry(0.96, 1, 64), new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9, depthTest: false }));
    this.brush.visible = false;

    this.sky = new THREE.HemisphereLight();
    this.sun = new THREE.DirectionalLight();
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    Object.assign(this.sun.shadow.camera, { left: -7, right: 7, top: 7, bottom: -7, near: 1, far: 40 });
    this.sun.shadow.normalBias = 0.02;
    this.sun.shadow.radius = 2;
    this.scene.add(this.ground.group, this.mannequin.group, this.ghost.group, this.way, this.planLine, this.goal, this.brush);
    this.scene.add(this.sky, this.sun, this.sun.target);
    this.resize();
  }

  setTheme(name) {
    const theme = (this.theme = THEMES[name]);
    this.scene.background = new THREE.Color(theme.back);
    this.scene.fog = new THREE.Fog(theme.back, 14, 46);
    this.sky.color.set(theme.sky);
    this.sky.groundColor.set(theme.earth);
    this.sky.intensity = theme.skyPower;
    this.sun.color.set(theme.sun);
    this.sun.intensity = theme.sunPower;
    this.bodyMaterial.color.set(theme.body);
    this.ghostMaterial.color.set(theme.plan);
    this.ghostMaterial.emissive.set(theme.plan).multiplyScalar(0.35);
    this.ghostMaterial.opacity = theme.ghost;
    this.planMaterial.color.set(theme.plan);
    this.wayMaterial.color.set(theme.accent);
    this.goalMaterial.color.set(theme.accent);
    this.brush.material.color.set(theme.accent);
    if (this.terrain) this.setTerrain(this.terrain);
  }

  setTerrain(terrain) {
    this.terrain = terrain;
    this.ground.set(terrain, this.theme);
  }

  /** nodes: waypoints [x, y, z], or null for none. */
  setWay(nodes, isGoal) {
    const places = nodes ?? [];
    const place = new THREE.Matrix4();
    this.way.count = Math.min(places.length, 512);
    for (let k = 0; k < this.way.count; k++) this.way.setMatrixAt(k, place.makeTranslation(places[k][0], places[k][1], places[k][2] + 0.02));
    this.way.instanceMatrix.needsUpdate = true;
    this.goal.visible = Boolean(nodes) && isGoal;
    if (this.goal.visible) this.goal.position.set(places.at(-1)[0], places.at(-1)[1], places.at(-1)[2] + 0.025);
  }

  /** The planned way of the root and the pose that the body should have soon. */
  setPlan(line, pose) {
    this.ghost.group.visible = this.planLine.visible = Boolean(line);
    if (!line) return;
    const place = new THREE.Matrix4();
    this.planLine.count = Math.min(line.length / 3, 128);
    for (let k = 0; k < this.planLine.count; k++) this.planLine.setMatrixAt(k, place.makeTranslation(line[3 * k], line[3 * k + 1], line[3 * k + 2]));
    this.planLine.instanceMatrix.needsUpdate = true;
    this.ghost.place(pose);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.renderer.setPixelRatio(this.share * Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
  }

  /** The camera's shift for a panel that covers part of the view: pixels at the left and at the bottom. */
  setCovered(left, bottom) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.camera.setViewOffset(width, height, -left / 2, bottom / 2, width, height);
  }

  drag(dx, dy) {
    this.orbit.azimuth -= 0.006 * dx;
    this.orbit.elevation = clamp(this.orbit.elevation + 0.005 * dy, 0.06, 1.5);
  }

  zoom(factor) {
    this.orbit.distance = clamp(this.orbit.distance * factor, 1.8, 24);
  }

  /** The direction on the ground that is up on the screen. */
  get ahead() {
    return [-Math.cos(this.orbit.azimuth), -Math.sin(this.orbit.azimuth)];
  }

  /** Turn slowly behind a character that is driven this way. */
  swing(direction, dt) {
    const wanted = Math.atan2(-direction[1], -direction[0]);
    const off = Math.atan2(Math.sin(wanted - this.orbit.azimuth), Math.cos(wanted - this.orbit.azimuth));
    if (Math.abs(off) < 2.2) this.orbit.azimuth += off * (1 - Math.exp(-0.9 * dt));
  }

  draw(dt) {
    const at = this.mannequin.bones[0].position;
    const ease = this.follows ? 1 - Math.exp(-4 * dt) : 0;
    this.focus.lerp(new THREE.Vector3(at.x, at.y, at.z - 0.05), ease);
    const { azimuth, distance } = this.orbit;
    const wanted = this.clearElevation();
    this.elevation = this.elevation === undefined ? wanted : this.elevation + (wanted - this.elevation) * (1 - Math.exp(-6 * dt));
    const flat = Math.cos(this.elevation);
    this.camera.position.set(
      this.focus.x + distance * flat * Math.cos(azimuth),
      this.focus.y + distance * flat * Math.sin(azimuth),
      this.focus.z + distance * Math.sin(this.elevation),
    );
    this.camera.lookAt(this.focus);
    this.sun.target.position.copy(this.focus);
    this.sun.position.set(this.focus.x - 7, this.focus.y - 4, this.focus.z + 11);
    this.goalRing.scale.setScalar(1 + 0.08 * Math.sin(performance.now() / 260));
    this.renderer.render(this.scene, this.camera);
    this.adapt(dt);
  }

  /** The least elevation, from the one asked for up, at which no ground stands between camera and character. */
  clearElevation() {
    const { azimuth, elevation, distance } = this.orbit;
    const { x, y, z } = this.focus;
    for (let angle = elevation; angle < 1.45; angle += 0.04) {
      const [flat, rise] = [Math.cos(angle), Math.sin(angle)];
      let clear = true;
      for (let away = 0.5; away <= distance && clear; away += 0.2) {
        const ground = this.heightAt(x + away * flat * Math.cos(azimuth), y + away * flat * Math.sin(azimuth));
        clear = z - 0.75 + away * (rise + 0.75 / distance) > ground + 0.1;
      }
      if (clear) return angle;
    }
    return 1.45;
  }

  heightAt(x, y) {
    return this.terrain?.contains(x, y) ? this.terrain.heightAt(x, y) : -Infinity;
  }

  /** A machine that cannot keep up is given fewer pixels, then coarser shadows. */
  adapt(dt) {
    this.slow = dt > 1 / 24 ? this.slow + 1 : Math.max(this.slow - 0.5, 0);
    if (this.slow < 24 || document.hidden) return;
    this.slow = 0;
    if (this.share > LEAST_SHARE) {
      this.share = Math.max(this.share * 0.75, LEAST_SHARE);
      this.resize();
    } else if (this.renderer.shadowMap.type !== THREE.BasicShadowMap) {
      this.renderer.shadowMap.type = THREE.BasicShadowMap;
      this.sun.shadow.mapSize.set(1024, 1024);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
      this.scene.traverse((object) => object.material && (object.material.needsUpdate = true));
    }
  }

  ray(x, y) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const caster = new THREE.Raycaster();
    caster.setFromCamera(new THREE.Vector2(((x - left) / width) * 2 - 1, 1 - ((y - top) / height) * 2), this.camera);
    return caster;
  }

  /** The point of the ground under a place on the screen, or null. */
  pick(x, y) {
    return this.ray(x, y).intersectObject(this.ground.mesh)[0]?.point ?? null;
  }

  /** The same on another terrain than the one that is drawn; on a wall it is a point of the higher cell. */
  strike(terrain, x, y) {
    const { ray } = this.ray(x, y);
    const point = new THREE.Vector3();
    for (let away = 0.5; away < 60; away += 0.02) {
      ray.at(away, point);
      if (terrain.contains(point.x, point.y) && point.z <= terrain.heightAt(point.x, point.y)) return point;
    }
    return null;
  }

  /** Whether the character is under a place on the screen; the ray's direction then. */
  touches(x, y) {
    const { ray } = this.ray(x, y);
    const near = this.mannequin.bones.some((bone) => ray.distanceToPoint(bone.position) < 0.16);
    return near ? ray.direction.toArray() : null;
  }

  /** Where a point of the world is on the screen. */
  project(point) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const seen = new THREE.Vector3(...point).project(this.camera);
    return [left + ((seen.x + 1) / 2) * width, top + ((1 - seen.y) / 2) * height];
  }

  setBrush(point, radius) {
    this.brush.visible = Boolean(point);
    if (!point) return;
    this.brush.position.set(point.x, point.y, point.z + 0.03);
    this.brush.scale.setScalar(radius);
  }
}
