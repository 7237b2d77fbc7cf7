// The simulated world (parc.physics): one body, a window of 7 x 7 boxes of ground that follows it, 4 steps of 1/120 s each 1/30 s.

const WINDOW = 7;
const HALF_HEIGHT = 3.0;
const STILL_ABOVE = 0.499;
const MAX_SPEED = 200;

export class Simulation {
  /** mujoco: the module; body: body.json of the page; xml: the body's MJCF. */
  constructor(mujoco, body, xml) {
    this.mujoco = mujoco;
    this.substeps = body.substeps;
    this.model = mujoco.MjModel.from_xml_string(xml);
    const { model } = this;
    model.opt.timestep = 1 / (body.control_hz * body.substeps);
    model.opt.disableflags = body.disableflags;
    for (const [name, values] of Object.entries(body.model)) model[name].set(values); // what the file's six digits have cut off
    this.data = new mujoco.MjData(model);
    this.pose = new mujoco.MjData(model); // of states that are looked at, not simulated
    this.bodies = body.names.length;
    this.motors = body.motors;
    this.contacts = new Float32Array(this.bodies);
    this.diverged = false;
    this.setTerrain(null);
  }

  setTerrain(terrain) {
    this.terrain = terrain;
    this.windowIsOld = true;
  }

  get qpos() {
    return this.data.qpos;
  }

  get qvel() {
    return this.data.qvel;
  }

  reset(qpos, qvel) {
    this.data.qpos.set(qpos);
    this.data.qvel.set(qvel);
    this.data.qacc_warmstart.fill(0);
    this.contacts.fill(0);
    this.diverged = false;
  }

  /** One control step with motor targets. */
  step(targets) {
    const { model, data, mujoco } = this;
    this.moveWindow();
    data.ctrl.set(targets.subarray(0, this.motors));
    for (let k = 0; k < this.substeps; k++) mujoco.mj_step(model, data);
    const touches = data.sensordata;
    for (let b = 0; b < this.bodies; b++) this.contacts[b] = touches[b] > 0 ? 1 : 0;
    this.diverged = !(data.qpos.every(Number.isFinite) && data.qvel.every((v) => Math.abs(v) <= MAX_SPEED));
  }

  moveWindow() {
    const { terrain } = this;
    const [x, y] = this.data.qpos;
    const boxes = this.model.geom_pos;
    const middle = 3 * ((WINDOW * WINDOW) >> 1);
    const still = Math.max(Math.abs(x - boxes[middle]), Math.abs(y - boxes[middle + 1])) <= STILL_ABOVE * terrain.cell;
    if (still && !this.windowIsOld) return;
    this.windowIsOld = false;
    const [mi, mj] = terrain.cellOf(x, y);
    let at = 0;
    for (let i = mi - 3; i <= mi + 3; i++) {
      for (let j = mj - 3; j <= mj + 3; j++) {
        boxes[at++] = terrain.low[0] + terrain.cell * i;
        boxes[at++] = terrain.low[1] + terrain.cell * j;
        boxes[at++] = terrain.at(i, j) - HALF_HEIGHT;
      }
    }
  }

  /** Where the bodies of a state are: 7 numbers each, x y z and a quaternion x y z w, to `out` from `offset` on. */
  bodiesOf(qpos, out, offset = 0) {
    const { pose } = this;
    pose.qpos.set(qpos);
    this.mujoco.mj_kinematics(this.model, pose);
    const [pos, quat] = [pose.xpos, pose.xquat];
    for (let b = 1; b <= this.bodies; b++) {
      out[offset++] = pos[3 * b];
      out[offset++] = pos[3 * b + 1];
      out[offset++] = pos[3 * b + 2];
      out[offset++] = quat[4 * b + 1];
      out[offset++] = quat[4 * b + 2];
      out[offset++] = quat[4 * b + 3];
      out[offset++] = quat[4 * b];
    }
    return out;
  }
}
