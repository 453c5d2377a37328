/**
 * The public functions of the bridge between Python and WebNN.
 *
 * Only strings, numbers and flat buffers are passed. Contexts, graphs and tensors are identified by
 * handles: integers that are never reused. Every failure is a `BridgeError`.
 */

/** A Python buffer (Pyodide's PyProxy), borrowed for one call. */
export interface PythonBuffer {
  getBuffer(type: "u8"): { data: Uint8Array<ArrayBuffer>; release(): void };
}

/** Raw little-endian elements of a tensor, whatever its data type. */
export type Bytes = PythonBuffer | Uint8Array<ArrayBuffer> | ArrayBuffer;

/** A Python function (Pyodide's PyProxy). */
export interface Answer {
  (ticket: number, error?: unknown): void;
  callPromising: Answer;
}

export type ErrorName =
  | "NotAvailable" // there is no WebNN here, or createContext refused
  | "NotAllowed" // the permissions policy of the page keeps WebNN from it
  | "BuildError" // a graph was refused; `operator` and `label` say where, if that is known
  | "BindingError" // the tensors of a dispatch do not fit the graph
  | "DeviceError" // a tensor could not be made, written or read
  | "ContextLost" // the device is gone; `step` is the last good step, if steps were running
  | "UnknownHandle"; // released, closed, or never made

export class BridgeError extends Error {
  constructor(name: ErrorName, message: string, details?: Record<string, unknown>);
  operator?: string;
  label?: string;
  step?: number | null;
}

/** Return name and version of the browser and its system, as precisely as it reports them. */
export function browser(): Promise<string>;

/**
 * Create a context. `optionsJson` is `[today, older]`: options of `navigator.ml.createContext` for
 * implementations of today's specification, and for those that do not tell `accelerated`.
 */
export function open(optionsJson: string): Promise<number>;

/**
 * Return the handle of a context, with the interface of MLContext; another module made it, unless
 * it has the options of `open`.
 */
export function adopt(context: MLContext, options?: object | null): number;

/** Return what a handle stands for, and register more, for modules beside the bridge. */
export { lookup, registerMember } from "./handles.js";

/** Return `opSupportLimits()` as JSON. */
export function limits(context: number): string;

/** Return as JSON whether a context is accelerated, `null` if the browser does not tell. */
export function accelerated(context: number): string;

/**
 * Build the graph of a plan (see webnnm/compiler/plan.py); the constants' bytes are in one buffer, in
 * tensors, or in arrays of their own.
 */
export function build(
  context: number,
  planJson: string,
  constants: Bytes,
  ...arrays: Bytes[]
): Promise<number>;

/** Build the graph of a model in a file format that the adopted context reads. */
export function load(context: number, model: Bytes): Promise<number>;

/** Return the devices that a graph runs on as JSON, `[]` if the browser does not report them. */
export function devices(graph: number): string;

/** What the host does with a tensor; graphs do both with each. */
export type Access = "write" | "read" | "both";

/**
 * Create a tensor, filled with zeros or with data. Those of models can be written and read: all of
 * them are read if a model moves to another backend.
 */
export function tensor(
  context: number,
  dataType: string,
  shapeJson: string,
  data?: Bytes,
  access?: Access,
): Promise<number>;

/**
 * Create several tensors, all or none. `typesJson` is a list of `[dataType, shape, access]`, where the
 * access may be missing; `contents` are the bytes of each, as for `tensor`.
 */
export function tensors(
  context: number,
  typesJson: string,
  ...contents: (Bytes | undefined)[]
): Promise<number[]>;

/** Queue a copy of data to a tensor; the buffer may be reused immediately. */
export function write(tensor: number, data: Bytes): void;

/** Return the bytes of several tensors, one after the other. */
export function read(...tensors: number[]): Promise<Uint8Array<ArrayBuffer>>;

/** Queue one run of a graph; `bindingJson` is `[inputs, outputs]`, each `{name: tensor}`. */
export function dispatch(graph: number, bindingJson: string): void;

/**
 * Bind a graph to tensors for many runs. `tensorsJson` is `[written, read]`, the handles of those
 * that are written before and read after each run; `answer` is called at the end of each run.
 */
export function runner(
  graph: number,
  bindingJson: string,
  tensorsJson: string,
  answer: Answer,
): number;

/**
 * Return the buffers of a runner, which it keeps: one for each written tensor, with the bytes that
 * `run` writes, then one for the bytes that it read, one tensor after the other.
 */
export function buffers(runner: number): Uint8Array[];

/**
 * Write tensors, run the graph and read tensors. A typed array in `sources` is written in place of
 * the buffer of its tensor; with any, `results` are memory that is not used again. `answer` is called with the ticket, and an error
 * if there is one, without a turn of the event loop; or, after a turn, on a stack that Python can
 * suspend (JSPI) if `promising`.
 */
export function run(
  runner: number,
  ticket: number,
  promising: boolean,
  ...sources: (ArrayBufferView | undefined)[]
): void;

/** Return what the last run read, each tensor as a typed array. */
export function results(runner: number): ArrayBufferView[];

/**
 * Build the graph of a plan, run it once and return the bytes of all outputs; then free everything.
 * `data` are the bytes of all inputs, one after the other.
 */
export function once(
  context: number,
  planJson: string,
  constants: Bytes,
  data: Bytes,
): Promise<Uint8Array<ArrayBuffer>>;

/**
 * Run steps `first … first + count - 1` of a graph, then read.
 *
 * Step k uses `buffers[k % 2]`, a binding as in `dispatch`. Each element of `reads` is a pair of
 * tensors, of which the one at `k % 2` for the last k is read. Waits for the device now and then,
 * so that the page stays responsive and a lost context is noticed. `ticket` is a number that the
 * caller chooses, with which `halt` ends the steps early.
 */
export function steps(
  graph: number,
  buffersJson: string,
  first: number,
  count: number,
  readsJson: string,
  ticket: number,
): Promise<Uint8Array<ArrayBuffer>>;

/** End the steps of a ticket early; their promise is settled once the device is idle. */
export function halt(ticket: number): void;

/**
 * Return 0 … size − 1 as int32 in the order that size − 1 words give (Fisher–Yates), for which
 * Python is slow; more words give several permutations, one after the other. The result is empty if
 * a word has to be rejected for fairness.
 */
export function permutations(words: Bytes, size: number): Uint8Array;

/** Destroy tensors and graphs; unknown handles are ignored. */
export function release(...handles: number[]): void;

/** Return what a context holds as JSON: `{graphs, tensors, bytes}`; zeros once it is closed. */
export function memory(context: number): string;

/** Destroy a context with everything made in it; closing twice is allowed. */
export function close(context: number): void;
