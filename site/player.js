/** Plays sounds that are given as numbers; nothing is fetched. */

/** @type {AudioContext | undefined} */
let context;
/** @type {AudioBufferSourceNode | undefined} */
let playing;

/** Play samples at a rate, stopping what is playing. @param {Float32Array} samples */
export async function play(samples, /** @type {number} */ rate) {
  context ??= new AudioContext();
  await context.resume();
  playing?.stop();
  const buffer = new AudioBuffer({ length: samples.length, sampleRate: rate });
  buffer.copyToChannel(samples, 0);
  playing = new AudioBufferSourceNode(context, { buffer });
  playing.connect(context.destination);
  playing.start();
}
