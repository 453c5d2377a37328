/** Sound for networks: files, and the microphone in frames, with one channel and a fixed rate. */

import type { Memory } from "./files.js";

/** A microphone that is open. */
export interface Microphone {
  close(): Promise<void>;
}

/**
 * Fetch what a microphone needs at a rate, so that `open` fetches nothing: for pages whose policy
 * later forbids it.
 */
export function prepare(rate: number): Promise<void>;

/**
 * Open the microphone, and call `tell` with frames of `size` samples. Errors have the names that
 * `getUserMedia` gives them.
 */
export function open(
  rate: number,
  size: number,
  tell: (frame: Float32Array<ArrayBuffer>) => void,
): Promise<Microphone>;

/** Return the samples of a file that the browser can play, at a rate, with all channels mixed. */
export function decode(memory: Memory, rate: number): Promise<Float32Array<ArrayBuffer>>;

/** Return the samples of a file's bytes, which become unusable, as `decode` does. */
export function decodeFile(file: ArrayBuffer, rate: number): Promise<Float32Array<ArrayBuffer>>;

declare global {
  /** Globals of the browser's audio thread. */
  class AudioWorkletProcessor {
    readonly port: MessagePort;
  }
  function registerProcessor(name: string, kind: new (options: any) => AudioWorkletProcessor): void;
}
