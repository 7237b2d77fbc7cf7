// Random numbers that Python can repeat (parc.web.page_random): xoshiro128** (Blackman and Vigna 2018), seeded by splitmix32;
// normal numbers by Box and Muller (1958), both of a pair used.

export class Random {
  constructor(seed) {
    let state = seed >>> 0;
    const splitmix = () => {
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
    this.state = Uint32Array.from([splitmix(), splitmix(), splitmix(), splitmix()]);
    this.spare = null;
  }

  /** The next 32 bits. */
  bits() {
    const s = this.state;
    const product = Math.imul(s[1], 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return result;
  }

  /** In [0, 1). */
  random() {
    return this.bits() / 4294967296;
  }

  uniform(low, high) {
    return low + (high - low) * this.random();
  }

  /** A whole number from low to high - 1. */
  integer(low, high) {
    return low + Math.floor(this.random() * (high - low));
  }

  normal(mean = 0, deviation = 1) {
    let value = this.spare;
    if (value === null) {
      const radius = Math.sqrt(-2 * Math.log(1 - this.random()));
      const angle = 2 * Math.PI * this.random();
      value = radius * Math.cos(angle);
      this.spare = radius * Math.sin(angle);
    } else {
      this.spare = null;
    }
    return mean + deviation * value;
  }

  /** Fill an array with normal numbers. */
  fillNormal(array) {
    for (let k = 0; k < array.length; k++) array[k] = this.normal();
    return array;
  }
}
