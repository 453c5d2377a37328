/** Sound for networks: the microphone or a file, at one rate, in frames. Python calls all of it. */

/** @type {AudioContext | null} */
let context = null;
/** @type {MediaStream | null} */
let stream = null;

/**
 * Open the microphone, and have frames of samples told as Float32Arrays.
 * @param {number} rate Samples per second; @param {number} size Samples per frame.
 * @param {(frame: Float32Array) => void} tell
 */
export async function open(rate, size, tell) {
  stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  context = new AudioContext({ sampleRate: rate });
  await context.audioWorklet.addModule("./frames.js");
  const node = new AudioWorkletNode(context, "frames", {
    numberOfOutputs: 0,
    processorOptions: { size },
  });
  node.port.onmessage = ({ data }) => tell(data);
  context.createMediaStreamSource(stream).connect(node);
  await context.resume();
}

/** Close the microphone. */
export async function close() {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  await context?.close();
  context = null;
}

/** The samples of a file at a rate, all channels mixed. @param {Blob} file */
export async function read(file, rate) {
  const decoder = new OfflineAudioContext(1, 1, rate);
  const sound = await decoder.decodeAudioData(await file.arrayBuffer());
  const mixer = new OfflineAudioContext(1, sound.length, rate);
  const source = new AudioBufferSourceNode(mixer, { buffer: sound });
  source.connect(mixer.destination);
  source.start();
  return (await mixer.startRendering()).getChannelData(0);
}
