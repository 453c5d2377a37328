/** Ready examples for pages that are taught: pictures that are drawn, sounds that are computed. */

const SIDE = 160;

/**
 * Return a function that draws numbers from 0 to 1: the same for the same seed (Mulberry32).
 * @param {number} seed
 */
function random(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What draws a kind of picture around the origin. */
const DRAWINGS = {
  Sun(context, draw) {
    const size = 30 + 14 * draw();
    context.strokeStyle = context.fillStyle = `hsl(${42 + 8 * draw()} 95% ${50 + 6 * draw()}%)`;
    context.lineWidth = 6;
    for (let ray = 0; ray < 8; ray++) {
      context.rotate(Math.PI / 4);
      context.beginPath();
      context.moveTo(size + 6, 0);
      context.lineTo(size + 20, 0);
      context.stroke();
    }
    context.beginPath();
    context.arc(0, 0, size, 0, 2 * Math.PI);
    context.fill();
  },
  Leaf(context, draw) {
    const [length, width] = [50 + 14 * draw(), 34 + 12 * draw()];
    context.fillStyle = `hsl(${120 + 20 * draw()} 60% ${28 + 8 * draw()}%)`;
    context.strokeStyle = `hsl(110 45% 62%)`;
    context.lineWidth = 3;
    context.beginPath();
    context.moveTo(0, -length);
    context.quadraticCurveTo(2 * width, 0, 0, length);
    context.quadraticCurveTo(-2 * width, 0, 0, -length);
    context.fill();
    context.beginPath();
    context.moveTo(0, 0.8 * length);
    context.lineTo(0, -0.8 * length);
    context.stroke();
  },
};

/** Return a picture of a kind; another number is another picture. */
export function picture(/** @type {keyof typeof DRAWINGS} */ kind, /** @type {number} */ number) {
  const draw = random(number);
  const canvas = new OffscreenCanvas(SIDE, SIDE);
  const context = canvas.getContext("2d");
  context.fillStyle = `hsl(${190 + 50 * draw()} ${15 + 30 * draw()}% ${80 + 14 * draw()}%)`;
  context.fillRect(0, 0, SIDE, SIDE);
  context.lineCap = "round";
  context.translate(SIDE / 2 + 30 * (draw() - 0.5), SIDE / 2 + 30 * (draw() - 0.5));
  context.rotate(2 * Math.PI * draw());
  DRAWINGS[kind](context, draw);
  return canvas;
}

/** What adds a kind of sound to a second of noise. */
const SOUNDS = {
  "Background noise"() {},
  Whistle(samples, rate, draw) {
    const low = 900 + 500 * draw();
    const [first, length] = [Math.floor((draw() * rate) / 3), Math.floor(0.6 * rate)];
    for (let at = 0; at < length; at++) {
      const swell = Math.sin((Math.PI * at) / length);
      const turns = (low * at * (1 + at / (2 * rate))) / rate;
      samples[first + at] += 0.3 * swell * Math.sin(2 * Math.PI * turns);
    }
  },
  Clap(samples, rate, draw) {
    const length = Math.floor(rate / 8);
    for (let clap = 0; clap < 3; clap++) {
      const first = Math.floor((rate - length) * draw());
      for (let at = 0; at < length; at++) {
        samples[first + at] += 1.2 * (draw() - 0.5) * Math.exp((-5 * at) / length);
      }
    }
  },
};

/** Return a second of a kind of sound; another number is another sound. */
export function sound(
  /** @type {keyof typeof SOUNDS} */ kind,
  /** @type {number} */ number,
  /** @type {number} */ rate,
) {
  const draw = random(number);
  const samples = Float32Array.from({ length: rate }, () => 0.006 * (draw() - 0.5));
  SOUNDS[kind](samples, rate, draw);
  return samples;
}
