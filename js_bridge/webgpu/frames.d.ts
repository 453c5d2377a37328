/** Pictures of a page before and after a graph: see frames.js. */

import type { Bytes } from "../webnn/bridge.js";

/**
 * How the colours of a picture are the numbers of a tensor. A number of a tensor is a share of a
 * colour, from 0 to 1, times the `scale` of its channel plus its `offset`; where a tensor is
 * painted, a share is a number times `scale` plus `offset`.
 */
export interface Format {
  dataType: "float32" | "float16" | "uint8";
  width: number;
  height: number;
  /** 3, or 1 for grey. */
  channels: number;
  /** Whether the channels of a pixel are neighbours, instead of the pixels of a channel. */
  channelsLast: boolean;
  /** Whether blue is the first channel. */
  reversed: boolean;
  scale: number[];
  offset: number[];
}

/** What this module calls of the bridge, which is passed on: it has the handles. */
export interface BridgeModule {
  lookup(handle: number, kind: string): any;
  registerMember(entry: any): number;
  dispatch(graph: number, bindingJson: string): void;
}

/** A context and a device that try once whether they share tensors. */
export interface Trial {
  /** Return whether they compute right numbers with shared tensors, and close both. */
  passes(): Promise<boolean>;
}

/** A context and a device of WebGPU that share tensors. */
export interface Link {
  /** What the result of a trial depends on besides the browser, "" if none is needed. */
  readonly subject: string;
  /** Open a trial of contexts of this kind. */
  openTrial(): Promise<Trial>;
  /** Create a tensor for pictures in the context, and return its handle. */
  tensor(dataType: string, shapeJson: string, bytes: number): Promise<number>;
  /**
   * Return what runs a graph on pictures: `bindingJson` as in `dispatch`, `picturesJson` the
   * tensors of the picture and of the result, each as `{ tensor, format }`.
   */
  painter(graph: number, bindingJson: string, picturesJson: string): Promise<Painter>;
}

/** A graph with a picture before it and one after it. */
export interface Painter {
  /**
   * Run the graph on what a canvas can draw, and paint the result on a canvas.
   *
   * @throws BridgeError PictureError for what cannot be drawn, or cannot be drawn on
   */
  paint(picture: any, canvas: any): Promise<void>;
  /** Free what was made for it; the tensors belong to the context. */
  close(): void;
}

/**
 * Return the link of a context to WebGPU.
 *
 * @throws BridgeError NotAvailable where the browser or the context has no such thing
 */
export function connect(bridge: BridgeModule, context: number): Promise<Link>;

/**
 * Return what a canvas can draw as the bytes of a tensor, by way of the host.
 *
 * @throws BridgeError PictureError for what cannot be drawn or read
 */
export function readPicture(picture: any, formatJson: string): Uint8Array<ArrayBuffer>;

/**
 * Paint the bytes of a tensor on a canvas, by way of the host.
 *
 * @throws BridgeError PictureError for what cannot be drawn on
 */
export function paintNumbers(canvas: any, bytes: Bytes, formatJson: string): void;
