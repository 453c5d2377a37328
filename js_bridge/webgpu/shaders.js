/**
 * The shaders that turn a picture into the numbers of a tensor, and such numbers into a picture.
 *
 * A tensor is an array of 32-bit words, each of which holds one float32, two float16 or four uint8:
 * shaders need no optional features for these.
 *
 * @module
 * @typedef {import("./frames.js").Format} Format
 */

import { GREY } from "../page/pixels.js";

/** How elements are written to a word and read from it. @type {Record<string, Packing>} */
const PACKINGS = {
  float32: { elements: 1, pack: "bitcast<u32>(v.x)", unpack: "vec4f(bitcast<f32>(word))" },
  float16: {
    elements: 2,
    pack: "pack2x16float(clamp(v.xy, vec2f(-65504), vec2f(65504)))",
    unpack: "vec4f(unpack2x16float(word), 0, 0)",
  },
  uint8: {
    elements: 4,
    pack: "pack4x8unorm(v / 255)",
    unpack: "unpack4x8unorm(word) * 255",
  },
};

/** @typedef {{ elements: number, pack: string, unpack: string }} Packing */

/** Return the number of 32-bit words of a tensor. @param {Format} format */
export function countWords(format) {
  return Math.ceil((format.width * format.height * format.channels) / packing(format).elements);
}

/** Return the shader that computes a word of a tensor from a texture. @param {Format} format */
export function tensorShader(format, /** @type {number} */ group) {
  const { elements, pack } = packing(format);
  const numbers = ["x", "y", "z", "w"].slice(0, elements);
  return `
    ${constants(format)}
    @group(0) @binding(0) var picture: texture_2d<f32>;
    @group(0) @binding(1) var<storage, read_write> tensor: array<u32>;

    fn element(index: u32) -> f32 {
      let channel = ${format.channelsLast ? "index % CHANNELS" : "index / PIXELS"};
      let pixel = ${format.channelsLast ? "index / CHANNELS" : "index % PIXELS"};
      let shares = textureLoad(picture, vec2u(pixel % WIDTH, pixel / WIDTH), 0).rgb;
      let value = ${format.channels === 1 ? `dot(shares, ${vector(GREY)})` : `shares[${colour(format)}]`};
      return value * SCALE[channel] + OFFSET[channel];
    }

    @compute @workgroup_size(${group})
    fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
      let word = id.y * groups.x * ${group} + id.x;
      if (word >= ${countWords(format)}) { return; }
      var v: vec4f;
      ${numbers.map((name, k) => `v.${name} = element(${elements} * word + ${k});`).join("\n      ")}
      tensor[word] = ${pack};
    }`;
}

/** Return the shader that paints the numbers of a tensor. @param {Format} format */
export function paintShader(format) {
  const { elements, unpack } = packing(format);
  const index = format.channelsLast ? "pixel * CHANNELS + channel" : "channel * PIXELS + pixel";
  return `
    ${constants(format)}
    @group(0) @binding(0) var<storage, read> tensor: array<u32>;

    fn share(pixel: u32, channel: u32) -> f32 {
      let index = ${index};
      let word = tensor[index / ${elements}];
      return (${unpack})[index % ${elements}] * SCALE[channel] + OFFSET[channel];
    }

    @vertex fn corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
      // A triangle that covers everything.
      return vec4f(f32(4 * (index & 1)) - 1, f32(2 * (index & 2)) - 1, 0, 1);
    }

    @fragment fn paint(@builtin(position) position: vec4f) -> @location(0) vec4f {
      let pixel = u32(position.y) * WIDTH + u32(position.x);
      return vec4f(${[0, 1, 2].map((k) => `share(pixel, ${channel(format, k)})`).join(", ")}, 1);
    }`;
}

/** @param {Format} format */
function constants({ width, height, channels, scale, offset }) {
  return `
    const WIDTH = ${width}u; const PIXELS = ${width * height}u; const CHANNELS = ${channels}u;
    const SCALE = ${vector(scale)}; const OFFSET = ${vector(offset)};`;
}

/** Return three numbers, or one three times, in the language of shaders. @param {number[]} numbers */
function vector(numbers) {
  return `vec3f(${numbers.map((number) => `f32(${number})`).join(", ")})`;
}

/** Return the channel of a colour. @param {Format} format @param {number} index */
function channel({ channels, reversed }, index) {
  if (channels === 1) return 0;
  return reversed ? 2 - index : index;
}

/** Return the colour of a channel. @param {Format} format */
function colour({ reversed }) {
  return reversed ? "2 - channel" : "channel";
}

/** @param {Format} format */
function packing({ dataType }) {
  return /** @type {Packing} */ (PACKINGS[dataType]);
}
