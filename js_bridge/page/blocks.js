/**
 * Unpacks the blocks of quantised numbers in GGUF files. formats/gguf.py describes their layouts
 * and unpacks all of them; these are the most common ones, and the same numbers.
 *
 * @module
 */

import { borrow } from "../common.js";

/**
 * Writes the numbers of the block at an offset, `step` apart from an index on.
 *
 * @callback Read
 * @param {Uint8Array} data @param {number} offset
 * @param {Float32Array} out @param {number} index @param {number} step
 * @returns {void}
 */

/** The value of each float16 by its bits. @type {Float32Array | undefined} */
let halves;

function tabulateHalves() {
  return Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const sign = bits >> 15 ? -1 : 1;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
  });
}

/** @param {Uint8Array} data @param {number} offset */
function half(data, offset) {
  const table = halves ??= tabulateHalves();
  return /** @type {number} */ (table[byte(data, offset) | (byte(data, offset + 1) << 8)]);
}

/** @param {Uint8Array} data @param {number} offset */
function byte(data, offset) {
  return /** @type {number} */ (data[offset]);
}

/** @param {Uint8Array} data @param {number} offset */
function signed(data, offset) {
  return (byte(data, offset) << 24) >> 24;
}

/** Return a rule for 32 numbers of 4 bits. @param {boolean} hasLeast @returns {Read} */
function fours(hasLeast) {
  const start = hasLeast ? 4 : 2;
  return (data, offset, out, index, step) => {
    const scale = half(data, offset);
    const least = hasLeast ? half(data, offset + 2) : -8 * scale;
    const middle = index + 16 * step;
    for (let i = 0; i < 16; i += 1) {
      const both = byte(data, offset + start + i);
      out[index + i * step] = scale * (both & 15) + least;
      out[middle + i * step] = scale * (both >> 4) + least;
    }
  };
}

/** Return a rule for 32 numbers of 5 bits. @param {boolean} hasLeast @returns {Read} */
function fives(hasLeast) {
  const start = hasLeast ? 4 : 2;
  return (data, offset, out, index, step) => {
    const scale = half(data, offset);
    const least = hasLeast ? half(data, offset + 2) : -16 * scale;
    const middle = index + 16 * step;
    for (let i = 0; i < 16; i += 1) {
      const both = byte(data, offset + start + 4 + i);
      const bits = offset + start + (i >> 3);
      const low = (both & 15) | (((byte(data, bits) >> (i & 7)) & 1) << 4);
      const high = (both >> 4) | (((byte(data, bits + 2) >> (i & 7)) & 1) << 4);
      out[index + i * step] = scale * low + least;
      out[middle + i * step] = scale * high + least;
    }
  };
}

/** @type {Read} */
function eights(data, offset, out, index, step) {
  const scale = half(data, offset);
  for (let i = 0; i < 32; i += 1) out[index + i * step] = scale * signed(data, offset + 2 + i) + 0;
}

/**
 * Return a rule for 256 numbers of 4 bits, or 5 of which the fifth is elsewhere, in eight groups.
 *
 * @param {boolean} hasFifth @returns {Read}
 */
function groups(hasFifth) {
  return (data, offset, out, index, step) => {
    const scale = half(data, offset);
    const least = half(data, offset + 2);
    const six = (/** @type {number} */ at) => byte(data, offset + 4 + at);
    for (let group = 0; group < 8; group += 1) {
      // The upper bits of the last four scales are stored with the first four.
      const a = group < 4 ? six(group) & 63 : (six(group + 4) & 15) | ((six(group - 4) >> 6) << 4);
      const b = group < 4 ? six(group + 4) & 63 : (six(group + 4) >> 4) | ((six(group) >> 6) << 4);
      const start = offset + (hasFifth ? 48 : 16) + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      for (let i = 0; i < 32; i += 1) {
        const fifth = hasFifth ? ((byte(data, offset + 16 + i) >> group) & 1) << 4 : 0;
        const number = ((byte(data, start + i) >> shift) & 15) | fifth;
        out[index + (group * 32 + i) * step] = scale * a * number - least * b;
      }
    }
  };
}

/** @type {Read} */
function sixes(data, offset, out, index, step) {
  const scale = half(data, offset + 208);
  for (let part = 0; part < 16; part += 1) {
    // 16 values each: eight parts share 64 bytes of lower and 32 of upper bits.
    const [side, eighth] = [part >> 3, part & 7];
    const low = offset + side * 64 + (eighth & 3) * 16;
    const high = offset + 128 + side * 32 + (eighth & 1) * 16;
    const factor = scale * signed(data, offset + 192 + part);
    for (let i = 0; i < 16; i += 1) {
      const four = (byte(data, low + i) >> (eighth > 3 ? 4 : 0)) & 15;
      const two = (byte(data, high + i) >> ((eighth >> 1) * 2)) & 3;
      out[index + (part * 16 + i) * step] = factor * ((four | (two << 4)) - 32) + 0;
    }
  }
}

/** Type → the numbers in a block, its bytes, the rule. @type {Record<string, [number, number, Read]>} */
const BLOCKS = {
  Q4_0: [32, 18, fours(false)],
  Q4_1: [32, 20, fours(true)],
  Q5_0: [32, 22, fives(false)],
  Q5_1: [32, 24, fives(true)],
  Q8_0: [32, 34, eights],
  Q4_K: [256, 144, groups(false)],
  Q5_K: [256, 176, groups(true)],
  Q6_K: [256, 210, sixes],
};

/** @type {import("./blocks.js").unpack} */
export function unpack(code, source, target, columns, head, transposed) {
  const [numbers, size, read] = /** @type {[number, number, Read]} */ (BLOCKS[code]);
  borrow(source, (data) => borrow(target, (memory) => {
    const out = new Float32Array(memory.buffer, memory.byteOffset, memory.byteLength / 4);
    const perRow = columns / numbers;
    const rows = out.length / columns;
    // Pairs (2i, 2i + 1) of a head become (i, i + size / 2).
    const place = (/** @type {number} */ row) => {
      const index = head ? row % head : 0;
      return head ? row - index + (index % 2) * (head / 2) + (index >> 1) : row;
    };
    // A column of blocks after the other writes to lines next to each other.
    const [outer, inner] = transposed ? [perRow, rows] : [rows, perRow];
    for (let i = 0; i < outer; i += 1) {
      for (let j = 0; j < inner; j += 1) {
        const [row, block] = transposed ? [j, i] : [i, j];
        const column = block * numbers;
        const index = transposed ? column * rows + place(row) : place(row) * columns + column;
        read(data, (row * perRow + block) * size, out, index, transposed ? rows : 1);
      }
    }
  }));
}
