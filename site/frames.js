/** The part of sounds.js that runs where the browser handles sound: it gathers frames. */

class Frames extends AudioWorkletProcessor {
  constructor({ processorOptions: { size } }) {
    super();
    this.size = size;
    this.frame = new Float32Array(size);
    this.count = 0;
  }

  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.frame[this.count++] = sample;
      if (this.count === this.size) {
        this.port.postMessage(this.frame, [this.frame.buffer]);
        this.frame = new Float32Array(this.size);
        this.count = 0;
      }
    }
    return true;
  }
}

registerProcessor("frames", Frames);
