/** Sound for networks: files, and the microphone in frames, of one channel and at one rate. */

import type { Memory } from "./files.js";

/** A microphone that is open. */
export interface Microphone {
  close(): Promise<void>;
}

/**
 * Fetch what a microphone of a rate needs, so that `open` fetches nothing: for pages whose policy
 * forbids it from some time on.
 */
export function prepare(rate: number): Promise<void>;

/**
 * Open the microphone, and have frames of so many samples told. Errors have the names that
 * `getUserMedia` gives them.
 */
export function open(
  rate: number,
  size: number,
  tell: (frame: Float32Array<ArrayBuffer>) => void,
): Promise<Microphone>;

/** The samples of a file that the browser plays, at a rate, all channels mixed. */
export function decode(memory: Memory, rate: number): Promise<Float32Array<ArrayBuffer>>;

declare global {
  /** What there is where the browser handles sound. */
  class AudioWorkletProcessor {
    readonly port: MessagePort;
  }
  function registerProcessor(name: string, kind: new (options: any) => AudioWorkletProcessor): void;
}
