/**
 * Sounds as the numbers of a model's input: samples of one channel from −1 to 1.
 *
 * @module
 */

import { decodeFile, open } from "../page/sounds.js";
import { flatten, product, refuse } from "./rows.js";

/**
 * Return the samples of a file, a Blob or its bytes: as many as the model takes, where it is
 * loudest. Numbers are samples already.
 *
 * @param {string} where @param {RowFormat} format @param {any} sound
 */
export async function readSound(where, { fieldShape, rate = 1 }, sound) {
  if (!(sound instanceof Blob || sound instanceof ArrayBuffer)) return flatten(where, sound);
  const file = sound instanceof Blob ? await sound.arrayBuffer() : sound.slice(0);
  let samples;
  try {
    samples = await decodeFile(file, rate);
  } catch (error) {
    throw refuse("NNM801", `${where}: this file is not a sound that the browser reads\nhint: save it as WAV or MP3`);
  }
  return { flat: cutLoudest(samples, product(fieldShape)), shape: fieldShape };
}

/**
 * Return the loudest part of a sound; one that is too short gets silence on both sides.
 *
 * @param {Float32Array} samples @param {number} length
 */
export function cutLoudest(samples, length) {
  const part = new Float32Array(length);
  const spare = samples.length - length;
  if (spare <= 0) {
    part.set(samples, Math.floor(-spare / 2));
    return part;
  }
  const power = new Float64Array(samples.length + 1);
  samples.forEach((sample, index) => { power[index + 1] = Number(power[index]) + sample * sample; });
  let [most, start] = [-1, 0];
  for (let first = 0; first <= spare; first += 1) {
    const own = Number(power[first + length]) - Number(power[first]);
    if (own > most) [most, start] = [own, first];
  }
  part.set(samples.subarray(start, start + length));
  return part;
}

/** Return as many samples as a model takes of what the microphone hears from now on. @param {Pick<RowFormat, "fieldShape" | "rate">} format */
export async function record({ fieldShape, rate = 1 }) {
  /** @type {(samples: Float32Array) => void} */
  let hear = () => {};
  /** @type {Promise<Float32Array>} */
  const heard = new Promise((resolve) => { hear = resolve; });
  const microphone = await open(rate, product(fieldShape), hear);
  const samples = await heard;
  await microphone.close();
  return samples;
}
