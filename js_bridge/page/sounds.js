/** Sound for networks: files, and the microphone in frames, with one channel and a fixed rate. */

// The browser's audio thread loads this module again to gather frames. The blob URL of the text is
// revoked once it is imported, so a new one is made for the same text.
const inWorklet = "AudioWorkletProcessor" in globalThis;
const moduleUrl = inWorklet || !import.meta.url.startsWith("blob:")
  ? import.meta.url
  : fetch(import.meta.url).then((response) => response.blob()).then(URL.createObjectURL);
// Who opens a microphone learns that it failed; until then nobody awaits it.
Promise.resolve(moduleUrl).catch(() => {});

if (inWorklet) {
  class Frames extends AudioWorkletProcessor {
    /** @param {{ processorOptions: { size: number } }} options */
    constructor({ processorOptions: { size } }) {
      super();
      this.size = size;
      this.frame = new Float32Array(size);
      this.count = 0;
      this.listening = true;
      this.port.onmessage = () => { this.listening = false; };
    }

    /** @param {Float32Array[][]} inputs */
    process(inputs) {
      const channel = inputs[0]?.[0];
      for (const sample of channel ?? []) {
        this.frame[this.count++] = sample;
        if (this.count === this.size) {
          this.port.postMessage(this.frame, [this.frame.buffer]);
          this.frame = new Float32Array(this.size);
          this.count = 0;
        }
      }
      return this.listening;
    }
  }
  registerProcessor("frames", Frames);
}

/** Contexts that open a microphone without a fetch, by rate. @type {Map<number, AudioContext>} */
const prepared = new Map();

/** @type {import("./sounds.js").prepare} */
export async function prepare(rate) {
  if (!prepared.has(rate)) prepared.set(rate, await openContext(rate));
}

/** Milliseconds in which sound starts: without a device that plays it, Firefox waits for ever. */
const START = 8000;

/** Start a context; one that does not start in time is an error. */
async function start(/** @type {AudioContext} */ context) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    const error = new Error("the browser does not start sound; is there a device that plays it?");
    timer = setTimeout(reject, START, error);
  });
  try {
    await Promise.race([context.resume(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function openContext(/** @type {number} */ rate) {
  const context = new AudioContext({ sampleRate: rate });
  try {
    await context.audioWorklet.addModule(await moduleUrl);
  } catch (error) {
    await context.close();
    throw error;
  }
  return context;
}

/** @type {import("./sounds.js").open} */
export async function open(rate, size, tell) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const ready = prepared.get(rate);
  prepared.delete(rate);
  /** @type {AudioContext | undefined} */
  let context = ready;
  /** @type {AudioWorkletNode | undefined} */
  let node;
  /** @type {MediaStreamAudioSourceNode | undefined} */
  let source;
  const close = async () => {
    for (const track of stream.getTracks()) track.stop();
    source?.disconnect();
    if (node) node.port.onmessage = null;
    node?.port.postMessage("end");
    if (!ready) {
      await context?.close();
      return;
    }
    // It waits for the next microphone.
    await ready.suspend();
    prepared.set(rate, ready);
  };
  try {
    context ??= await openContext(rate);
    const options = { numberOfOutputs: 0, processorOptions: { size } };
    node = new AudioWorkletNode(context, "frames", options);
    node.port.onmessage = ({ data }) => tell(data);
    source = context.createMediaStreamSource(stream);
    source.connect(node);
    await start(context);
  } catch (error) {
    // Nobody waits: sound that does not start does not end either.
    close().catch(() => {});
    throw error;
  }
  return { close };
}

/** @type {import("./sounds.js").decode} */
export async function decode(memory, rate) {
  const view = memory.getBuffer("u8");
  const file = view.data.slice().buffer;
  view.release();
  return decodeFile(file, rate);
}

/** @type {import("./sounds.js").decodeFile} */
export async function decodeFile(file, rate) {
  const decoder = new OfflineAudioContext(1, 1, rate);
  const sound = await decoder.decodeAudioData(file);
  const mixer = new OfflineAudioContext(1, sound.length, rate);
  const source = new AudioBufferSourceNode(mixer, { buffer: sound });
  source.connect(mixer.destination);
  source.start();
  return (await mixer.startRendering()).getChannelData(0);
}
