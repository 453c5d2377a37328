/** The smallest change of one text into another, which preserves the cursor and the history. */

/**
 * @param {string} before
 * @param {string} after
 * @returns {{from: number, to: number, insert: string} | null} null for equal texts
 */
export function changeTo(before, after) {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let same = 0;
  while (same < shorter - start && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  return { from: start, to: before.length - same, insert: after.slice(start, after.length - same) };
}
