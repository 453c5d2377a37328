/**
 * The bridge between Python and WebNN. bridge.d.ts says what each function does, types.d.ts what
 * plans are made of.
 *
 * @module
 * @typedef {typeof import("./bridge.js")} Bridge
 */

import { borrow, BridgeError, text } from "../common.js";
import { failure, guard } from "./failures.js";
import { alive, lookup, register, registerMember, release, releases } from "./handles.js";
import { assemble } from "./plans.js";

export { BridgeError, release };
export { browser } from "../page/browser.js";
export { close, lookup, memory, registerMember } from "./handles.js";
export { permutations } from "./permutations.js";

/** Milliseconds for which steps are queued before the page gets a turn. */
const TURN = 8;
/** Milliseconds of device work in a chunk of steps; two chunks may be in flight. */
const CHUNK = 25;
/** Tensors that are read at the same time for constants: steps of other graphs run in between. */
const READS = 8;
/** @type {Record<string, number>} */
const BITS = {
  float32: 32, float16: 16, int64: 64, uint64: 64, int32: 32, uint32: 32,
  int8: 8, uint8: 8, int4: 4, uint4: 4,
};

/** @type {Record<string, new (buffer: ArrayBuffer) => ArrayBufferView>} */
const ARRAYS = {
  float32: Float32Array, int64: BigInt64Array, uint64: BigUint64Array, int32: Int32Array,
  uint32: Uint32Array, int8: Int8Array, uint8: Uint8Array,
};

/** The tickets of running steps; halting removes a ticket. @type {Set<number>} */
const running = new Set();

/** @type {Bridge["open"]} */
export async function open(optionsJson) {
  if (!navigator.ml || typeof MLGraphBuilder === "undefined") {
    const why = isSecureContext ? "this browser has no WebNN" : "the page is not served securely";
    throw new BridgeError("NotAvailable", why);
  }
  const [today, older] = JSON.parse(optionsJson);
  let ml;
  let options;
  try {
    options = "accelerated" in MLContext.prototype ? today : older;
    ml = await navigator.ml.createContext(options);
  } catch (error) {
    const forbidden = error instanceof DOMException && error.name === "SecurityError";
    const name = forbidden ? "NotAllowed" : "NotAvailable";
    throw new BridgeError(name, `the browser refused: ${text(error)}`);
  }
  return adopt(ml, options);
}

/** @type {Bridge["adopt"]} */
export function adopt(ml, options = null) {
  /** @type {BridgeContext} */
  const context = { kind: "context", ml, options, members: new Set(), lost: null };
  ml.lost.then((info) => { context.lost = info.message || "the browser gave no reason"; });
  return register(context);
}

/** @type {Bridge["limits"]} */
export function limits(context) {
  return JSON.stringify(lookup(context, "context").ml.opSupportLimits());
}

/** @type {Bridge["accelerated"]} */
export function accelerated(context) {
  return JSON.stringify(lookup(context, "context").ml.accelerated ?? null);
}

/** @type {Bridge["build"]} */
export async function build(handle, planJson, constants, ...arrays) {
  const context = alive(handle);
  /** @type {Plan | ScanPlan} */
  const plan = JSON.parse(planJson);
  let ml;
  try {
    const builder = new MLGraphBuilder(context.ml);
    /** @type {Map<number, MLOperand>} */
    const operands = new Map();
    for (let start = 0; start < plan.constants.length; start += READS) {
      const group = plan.constants.slice(start, start + READS);
      await Promise.all(group.map(async ({ dtype: dataType, shape, id, ...source }) => {
        const constant = (/** @type {Uint8Array<ArrayBuffer>} */ data) => {
          operands.set(id, builder.constant({ dataType, shape }, data));
        };
        const array = arrays[source.beside ?? -1];
        if (array) borrow(array, constant);
        if (source.tensor === undefined) return;
        constant(new Uint8Array(await context.ml.readTensor(lookup(source.tensor, "tensor").ml)));
      }));
    }
    // Python's buffers are borrowed only to be copied: its memory may move during an await.
    ml = await borrow(constants, (bytes) => assemble(builder, operands, plan, bytes));
  } catch (error) {
    throw await failure(context, "BuildError", error);
  }
  const bytes = plan.constants.reduce((sum, constant) => sum + constant.length, 0);
  return registerMember({ kind: "graph", ml, context: handle, bytes, ahead: 4 });
}

/** @type {Bridge["load"]} */
export async function load(handle, model) {
  const context = alive(handle);
  const bytes = borrow(model, (view) => view.byteLength);
  try {
    const ml = await /** @type {AdoptedContext} */ (context.ml).load(model);
    return registerMember({ kind: "graph", ml, context: handle, bytes, ahead: 4 });
  } catch (error) {
    throw await failure(context, "BuildError", error);
  }
}

/** @type {Bridge["devices"]} */
export function devices(graph) {
  return JSON.stringify(lookup(graph, "graph").ml.devices ?? []);
}

/** @type {Bridge["tensor"]} */
export async function tensor(handle, dataType, shapeJson, data, access = "both") {
  const context = alive(handle);
  /** @type {number[]} */
  const shape = JSON.parse(shapeJson);
  let ml;
  try {
    const [readable, writable] = [access !== "write", access !== "read"];
    ml = await context.ml.createTensor({ dataType, shape, readable, writable });
  } catch (error) {
    throw await failure(context, "DeviceError", error);
  }
  const bytes = Math.ceil((shape.reduce((a, b) => a * b, 1) * (BITS[dataType] ?? 0)) / 8);
  const created = registerMember({ kind: "tensor", ml, context: handle, bytes });
  try {
    if (data) write(created, data);
  } catch (error) {
    release(created);
    throw error;
  }
  return created;
}

/** @type {Bridge["tensors"]} */
export async function tensors(context, typesJson, ...contents) {
  /** @type {[string, number[], import("./bridge.js").Access?][]} */
  const types = JSON.parse(typesJson);
  const attempts = await Promise.allSettled(types.map(([dtype, shape, access], index) => (
    tensor(context, dtype, JSON.stringify(shape), contents[index], access)
  )));
  const created = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
  const failed = attempts.find((attempt) => attempt.status === "rejected");
  if (failed) {
    release(...created);
    throw failed.reason;
  }
  return created;
}

/** @type {Bridge["write"]} */
export function write(handle, data) {
  const { ml, context, bytes } = lookup(handle, "tensor");
  borrow(data, (view) => {
    // Browsers would accept buffers of other lengths.
    if (view.byteLength !== bytes) {
      const lengths = `the tensor takes ${bytes} bytes, but ${view.byteLength} are given`;
      throw new BridgeError("DeviceError", lengths);
    }
    guard(alive(context), "DeviceError", (owner) => owner.ml.writeTensor(ml, view));
  });
}

/** @type {Bridge["read"]} */
export async function read(...handles) {
  const tensors = handles.map((handle) => lookup(handle, "tensor"));
  const [first] = tensors;
  return first ? readContents(alive(first.context), tensors) : new Uint8Array();
}

/** @type {Bridge["dispatch"]} */
export function dispatch(handle, bindingJson) {
  const { ml, context } = lookup(handle, "graph");
  const { inputs, outputs } = bindTensors(JSON.parse(bindingJson));
  guard(alive(context), "BindingError", (owner) => owner.ml.dispatch(ml, inputs, outputs));
}

/** @type {Bridge["runner"]} */
export function runner(graph, bindingJson, tensorsJson, answer) {
  const { context } = lookup(graph, "graph");
  /** @type {[number[], number[]]} */
  const [written, read] = JSON.parse(tensorsJson);
  const inputs = written.map((tensor) => allocate([lookup(tensor, "tensor")]));
  const output = allocate(read.map((tensor) => lookup(tensor, "tensor")));
  const names = { graph, binding: JSON.parse(bindingJson), written, read };
  const buffers = { inputs, output };
  return registerMember({ kind: "runner", context, buffers, answer, names, bound: null, releases, results: output });
}

/** @type {Bridge["buffers"]} */
export function buffers(handle) {
  const { inputs, output } = lookup(handle, "runner").buffers;
  return [...inputs, output];
}

/** @type {Bridge["run"]} */
export function run(handle, ticket, promising, ...sources) {
  const entry = lookup(handle, "runner");
  const context = alive(entry.context);
  const { graph, inputs, outputs, written, read: tensors } = resolveBindings(entry);
  const { answer, buffers } = entry;
  guard(context, "DeviceError", ({ ml }) => {
    written.forEach((tensor, index) => ml.writeTensor(
      tensor, copyResizable(sources[index]) ?? /** @type {any} */ (buffers.inputs[index]),
    ));
  });
  guard(context, "BindingError", ({ ml }) => ml.dispatch(graph, inputs, outputs));
  const settle = (/** @type {unknown[]} */ ...error) => {
    if (promising) answer.callPromising(ticket, ...error);
    else answer(ticket, ...error);
  };
  const memory = sources.length > 0 ? allocate(tensors) : buffers.output;
  readContents(context, tensors, memory).then((bytes) => { entry.results = bytes; settle(); }, settle);
}

/** @type {Bridge["results"]} */
export function results(handle) {
  const { results: bytes, names } = lookup(handle, "runner");
  let offset = 0;
  return names.read.map((tensor) => {
    const { ml, bytes: size } = lookup(tensor, "tensor");
    const start = offset;
    offset += size;
    const { buffer } = size === bytes.length ? bytes : bytes.slice(start, offset);
    const TypedArray = ARRAYS[ml.dataType] ?? Uint8Array;
    return new TypedArray(buffer);
  });
}

/** @type {Bridge["once"]} */
export async function once(context, planJson, constants, data) {
  /** @type {Plan} */
  const { inputs, outputs } = JSON.parse(planJson);
  const graph = await build(context, planJson, constants);
  /** @type {number[]} */
  let handles = [];
  try {
    const access = inputs.map(() => "write").concat(outputs.map(() => "read"));
    const types = [...inputs, ...outputs].map(({ dtype, shape }, index) => [dtype, shape, access[index]]);
    handles = await tensors(context, JSON.stringify(types));
    const names = (/** @type {PlanTensor[]} */ tensorTypes, /** @type {number[]} */ numbers) => (
      Object.fromEntries(tensorTypes.map(({ name }, index) => [name, numbers[index]]))
    );
    borrow(data, (bytes) => {
      let offset = 0;
      for (const handle of handles.slice(0, inputs.length)) {
        const end = offset + lookup(handle, "tensor").bytes;
        write(handle, bytes.subarray(offset, end));
        offset = end;
      }
    });
    const results = handles.slice(inputs.length);
    dispatch(graph, JSON.stringify([names(inputs, handles), names(outputs, results)]));
    return await read(...results);
  } finally {
    release(graph, ...handles);
  }
}

/** @type {Bridge["steps"]} */
export async function steps(handle, buffersJson, first, count, readsJson, ticket) {
  const graph = lookup(handle, "graph");
  const context = alive(graph.context);
  const [even, odd] = JSON.parse(buffersJson).map(bindTensors);
  const end = first + count;
  /** @type {number[]} */
  const reads = JSON.parse(readsJson).map((/** @type {number[]} */ pair) => pair[(end - 1) % 2]);
  let done = first;
  let sent = first;
  /** @type {Uint8Array<ArrayBuffer>} */
  let result = new Uint8Array();
  /** @type {[number, ReturnType<typeof read>][]} */
  const chunks = [];
  const send = () => {
    const began = performance.now();
    const stop = Math.min(end, sent + graph.ahead);
    let binding = even;
    do {
      binding = sent % 2 ? odd : even;
      guard(context, "BindingError", ({ ml }) => {
        ml.dispatch(graph.ml, binding.inputs, binding.outputs);
      });
      sent += 1;
    } while (sent < stop && performance.now() - began < TURN);
    // dispatch() itself reports no errors: reading waits for the device and detects its loss.
    // The page gets a turn meanwhile. Timers and animation frames do not set the pace, because
    // timers are clamped, and frames stop in hidden tabs.
    const reading = read(...(sent === end && reads.length > 0 ? reads : [binding.check]));
    reading.catch(() => {}); // the previous chunk may have reported it
    chunks.push([sent, reading]);
  };
  let before = performance.now();
  running.add(ticket);
  try {
    for (;;) {
      // The device already has the next chunk when the page awaits the previous one.
      while (chunks.length < 2 && sent < end && running.has(ticket)) send();
      const chunk = chunks.shift();
      if (!chunk) break;
      result = await chunk[1];
      const now = performance.now();
      const fitting = Math.floor(((chunk[0] - done) * CHUNK) / (now - before + 0.01));
      graph.ahead = Math.max(1, Math.min(2 * graph.ahead, fitting));
      [done] = chunk;
      before = now;
    }
  } catch (error) {
    throw await failure(context, "DeviceError", error, { step: done > first ? done - 1 : null });
  } finally {
    running.delete(ticket);
  }
  return reads.length > 0 ? result : new Uint8Array();
}

/** @type {Bridge["halt"]} */
export function halt(ticket) {
  running.delete(ticket);
}

/** @param {[Names, Names]} binding @returns {Bound} */
function bindTensors([inputs, outputs]) {
  const find = (/** @type {Names} */ names) => Object.entries(names).map(
    ([name, handle]) => /** @type {const} */ ([name, lookup(handle, "tensor")]),
  );
  const tensors = (/** @type {ReturnType<typeof find>} */ entries) => Object.fromEntries(
    entries.map(([name, { ml }]) => [name, ml]),
  );
  const written = find(outputs);
  if (written.length === 0) throw new BridgeError("BindingError", "no output is bound");
  const size = (/** @type {number} */ handle) => lookup(handle, "tensor").bytes;
  const check = Object.values(outputs).reduce((a, b) => (size(b) < size(a) ? b : a));
  return { inputs: tensors(find(inputs)), outputs: tensors(written), check };
}

/** Return what a runner is bound to, unless it was destroyed. @param {BridgeRunner} runner */
function resolveBindings(runner) {
  if (runner.bound === null || runner.releases !== releases) {
    const { graph, binding, written, read } = runner.names;
    const tensors = (/** @type {number[]} */ handles) => handles.map((handle) => lookup(handle, "tensor"));
    runner.bound = {
      ...bindTensors(binding),
      graph: lookup(graph, "graph").ml,
      written: tensors(written).map(({ ml }) => ml),
      read: tensors(read),
    };
    runner.releases = releases;
  }
  return runner.bound;
}

/**
 * Return the concatenated bytes of tensors, in the given memory, or in new memory.
 *
 * @param {BridgeContext} context @param {BridgeTensor[]} tensors
 * @param {Uint8Array<ArrayBuffer>} all
 */
async function readContents(context, tensors, all = allocate(tensors)) {
  try {
    const [only, ...others] = tensors;
    const buffers = only && others.length === 0
      ? [await context.ml.readTensor(only.ml, all)]
      : await Promise.all(tensors.map(({ ml }) => context.ml.readTensor(ml)));
    let offset = 0;
    for (const buffer of buffers) {
      if (!buffer) continue; // it is in the memory already
      all.set(new Uint8Array(buffer), offset);
      offset += buffer.byteLength;
    }
    return all;
  } catch (error) {
    throw await failure(context, "DeviceError", error);
  }
}

/** Copy an array whose buffer may change its size: devices take none. @param {any} array */
function copyResizable(array) {
  return array?.buffer.resizable ? array.slice() : array;
}

/** Return memory for the bytes of tensors. @param {BridgeTensor[]} tensors */
function allocate(tensors) {
  return new Uint8Array(tensors.reduce((sum, { bytes }) => sum + bytes, 0));
}
