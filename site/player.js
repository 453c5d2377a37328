/** Plays sounds that are given as numbers; nothing is fetched. */

/** @type {AudioContext | undefined} */
let context;
/** What plays now, or will after it. @type {Set<AudioBufferSourceNode>} */
const playing = new Set();
/** The time of the context at which the last sound ends. */
let end = 0;

/** Play samples at a rate, stopping what is playing. @param {Float32Array} samples */
export async function play(samples, /** @type {number} */ rate) {
  stop();
  await queue(samples, rate);
}

/** Play samples at a rate, after what is playing. @param {Float32Array} samples */
export async function queue(samples, /** @type {number} */ rate) {
  context ??= new AudioContext();
  await context.resume();
  const buffer = new AudioBuffer({ length: samples.length, sampleRate: rate });
  buffer.copyToChannel(samples, 0);
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(context.destination);
  source.addEventListener("ended", () => playing.delete(source));
  playing.add(source);
  const start = Math.max(end, context.currentTime);
  source.start(start);
  end = start + buffer.duration;
}

/** Stop what is playing, and what is queued. */
export function stop() {
  for (const source of playing) source.stop();
  playing.clear();
  end = 0;
}

/** Wait until nothing plays. */
export async function silence() {
  while (playing.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
}
