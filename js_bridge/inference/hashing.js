/**
 * Feature hashing of words: what Python's webnnm/data/tables/hashing.py does.
 *
 * @module
 */

const [C1, C2] = [0xcc9e2d51, 0x1b873593];

/** Return the bucket of a word and its sign. @param {string} word @param {number} buckets */
export function hashWord(word, buckets) {
  const hash = hashBytes(new TextEncoder().encode(word));
  return { bucket: Math.abs(hash) % buckets, sign: hash < 0 ? -1 : 1 };
}

/** The 32-bit MurmurHash3 with seed 0, signed. @param {Uint8Array} bytes */
function hashBytes(bytes) {
  const { length } = bytes;
  const whole = length & ~3;
  let hash = 0;
  for (let offset = 0; offset < whole; offset += 4) {
    hash ^= mix(readBlock(bytes, offset, 4));
    hash = (Math.imul(rotate(hash, 13), 5) + 0xe6546b64) | 0;
  }
  if (whole < length) hash ^= mix(readBlock(bytes, whole, length - whole));
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Bytes as a little-endian integer. @param {Uint8Array} bytes @param {number} offset @param {number} size */
function readBlock(bytes, offset, size) {
  let block = 0;
  for (let at = 0; at < size; at++) block |= Number(bytes[offset + at]) << (8 * at);
  return block;
}

/** @param {number} block */
const mix = (block) => Math.imul(rotate(Math.imul(block, C1), 15), C2);

/** @param {number} number @param {number} bits */
const rotate = (number, bits) => (number << bits) | (number >>> (32 - bits));
