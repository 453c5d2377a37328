/**
 * ONNX Runtime on WebAssembly as an `MLContext`. Tensors are memory of its heap, where graphs read
 * and write them in place; the functions of onnxruntime-web would copy them in every run. This
 * calls the exports of its WebAssembly (OrtInferenceAPIs in its lib/wasm/wasm-types.ts).
 *
 * @module
 * @typedef {any} Wasm an instance of ort-wasm-simd-threaded
 * @typedef {Record<string, Tensor>} Tensors
 * @typedef {{ name: string, address: number }} Name a string, and its copy in the heap
 * @typedef {{ session: number, inputs: Name[], outputs: Name[], pointers: number, destroy(): void }} Graph
 */

import { borrow, BridgeError, text } from "../common.js";

/** Milliseconds of work after which the page gets a turn. */
const TURN_MS = 8;
/** The level of messages that ONNX Runtime itself prints: only errors. */
const ERRORS = 3;
/** The level of graph optimisation: everything. */
const ALL = 99;
/** Tensors are in CPU memory. */
const ON_CPU = 1;
/** The ONNX number of each type, and the bits of an element. @type {Record<string, number[]>} */
const TYPES = {
  float32: [1, 32], uint8: [2, 8], int8: [3, 8], int32: [6, 32], int64: [7, 64], float16: [10, 16],
  uint32: [12, 32], uint64: [13, 64], uint4: [21, 4], int4: [22, 4],
};

/**
 * Return an instance of the module at an address, with its WebAssembly.
 *
 * @param {string} address @param {Response} binary @returns {Promise<Wasm>}
 */
export async function start(address, binary) {
  const [{ default: create }, compiled] = await Promise.all(
    [import(address), WebAssembly.compileStreaming(binary)],
  );
  // Threads need headers that make a page cross-origin isolated.
  const numThreads = globalThis.crossOriginIsolated ? navigator.hardwareConcurrency : 1;
  const wasm = await new Promise((resolve, reject) => {
    create({
      numThreads,
      instantiateWasm(/** @type {WebAssembly.Imports} */ imports, /** @type {any} */ receive) {
        WebAssembly.instantiate(compiled, imports).then(
          (instance) => receive(instance, compiled), reject,
        );
      },
    }).then(resolve, reject);
  });
  check(wasm, wasm._OrtInit(numThreads, ERRORS) === 0);
  return wasm;
}

/** @param {Wasm} wasm @param {() => void} forget called when the instance cannot be used any more */
export function contextOf(wasm, forget) {
  return new WebAssemblyContext(wasm, forget);
}

/** Throw ONNX Runtime's error unless a call succeeded. @param {Wasm} wasm @param {unknown} good */
function check(wasm, good) {
  if (good) return;
  const stack = wasm.stackSave();
  const addresses = wasm.stackAlloc(8);
  wasm._OrtGetLastError(addresses, addresses + 4);
  const message = wasm.UTF8ToString(wasm.HEAPU32[addresses / 4 + 1]);
  wasm.stackRestore(stack);
  throw new Error(message || "ONNX Runtime gave no reason");
}

/** The part of MLContext that the bridge calls. Work is synchronous; reads give the page a turn. */
class WebAssemblyContext {
  /** @param {Wasm} wasm @param {() => void} forget */
  constructor(wasm, forget) {
    this.wasm = wasm;
    this.forget = forget;
    this.lastTurn = performance.now();
    /** @type {(info: { message: string }) => void} */
    this.lose = () => {};
    /** @type {Promise<{ message: string }>} */
    this.lost = new Promise((resolve) => { this.lose = resolve; });
  }

  /** There are no limits here: the export to ONNX decides what may be used. */
  opSupportLimits() {
    return {};
  }

  /**
   * Return the graph of an ONNX model.
   *
   * @param {import("../webnn/bridge.js").Bytes} model
   */
  async load(model) {
    const { wasm } = this;
    /** @type {number[]} */
    const allocations = [];
    const options = wasm._OrtCreateSessionOptions(ALL, true, true, 0, false, 0, 0, ERRORS, 0, 0);
    try {
      check(wasm, options);
      const [address, length] = borrow(model, (bytes) => [this.#copy(bytes), bytes.byteLength]);
      allocations.push(address);
      const session = await this.#callGuarded(() => wasm._OrtCreateSession(address, length, options));
      check(wasm, session);
      return this.#describe(session);
    } finally {
      for (const address of allocations) wasm._free(address);
      wasm._OrtReleaseSessionOptions(options);
    }
  }

  /** @param {number} session @returns {Graph} */
  #describe(session) {
    const { wasm } = this;
    const addresses = this.#allocate(8);
    check(wasm, wasm._OrtGetInputOutputCount(session, addresses, addresses + 4) === 0);
    const [inputs, outputs] = wasm.HEAPU32.subarray(addresses / 4, addresses / 4 + 2);
    const names = Array.from({ length: inputs + outputs }, (_, index) => {
      check(wasm, wasm._OrtGetInputOutputMetadata(session, index, addresses, addresses + 4) === 0);
      const [address, type] = wasm.HEAPU32.subarray(addresses / 4, addresses / 4 + 2);
      wasm._OrtFree(type);
      return { name: wasm.UTF8ToString(address), address };
    });
    wasm._free(addresses);
    // The names never change: a run only has to write the tensors to `pointers`.
    const pointers = this.#allocate(8 * names.length);
    wasm.HEAPU32.set(names.map(({ address }) => address), pointers / 4 + names.length);
    const destroy = () => {
      wasm._OrtReleaseSession(session);
      for (const { address } of names) wasm._OrtFree(address);
      wasm._free(pointers);
    };
    return {
      session, inputs: names.slice(0, inputs), outputs: names.slice(inputs), pointers, destroy,
    };
  }

  /** @param {{ dataType: string, shape: number[] }} type */
  async createTensor({ dataType, shape }) {
    const { wasm } = this;
    const [type, bits] = /** @type {[number, number]} */ (TYPES[dataType]);
    const length = Math.ceil((shape.reduce((a, b) => a * b, 1) * bits) / 8);
    const address = this.#allocate(Math.max(length, 1));
    wasm.HEAPU8.fill(0, address, address + length);
    const stack = wasm.stackSave();
    const sizes = wasm.stackAlloc(4 * Math.max(shape.length, 1));
    wasm.HEAPU32.set(shape, sizes / 4);
    const value = wasm._OrtCreateTensor(type, address, length, sizes, shape.length, ON_CPU);
    wasm.stackRestore(stack);
    if (!value) wasm._free(address);
    check(wasm, value);
    return new Tensor(value, address, length, () => {
      wasm._OrtReleaseTensor(value);
      wasm._free(address);
    });
  }

  /** @param {Tensor} tensor @param {Uint8Array<ArrayBuffer>} data */
  writeTensor(tensor, data) {
    this.wasm.HEAPU8.set(data, tensor.address);
    tensor.failure = null;
  }

  /**
   * Run a graph. Its failure is reported by reads of its outputs.
   *
   * @param {Graph} graph @param {Tensors} inputs @param {Tensors} outputs
   */
  dispatch(graph, inputs, outputs) {
    try {
      this.#run(graph, inputs, outputs);
    } catch (error) {
      for (const tensor of Object.values(outputs)) tensor.failure = error;
    }
  }

  /** @param {Graph} graph @param {Tensors} inputs @param {Tensors} outputs */
  #run(graph, inputs, outputs) {
    const { wasm } = this;
    const { pointers: values } = graph;
    // The ONNX graph lacks inputs that no output depends on.
    const feeds = graph.inputs.map(({ name }) => /** @type {Tensor} */ (inputs[name]));
    const results = graph.outputs.map(({ name }) => /** @type {Tensor} */ (outputs[name]));
    const failed = feeds.find(({ failure }) => failure);
    if (failed) throw failed.failure;
    const tensors = [...feeds, ...results];
    wasm.HEAPU32.set(tensors.map(({ value }) => value), values / 4);
    const names = values + 4 * tensors.length;
    const skip = 4 * feeds.length;
    check(wasm, this.#callGuarded(() => wasm._OrtRun(
      graph.session, names, values, feeds.length, names + skip, results.length, values + skip, 0,
    )) === 0);
    for (const tensor of results) tensor.failure = null;
  }

  /** @param {Tensor} tensor @returns {Promise<ArrayBuffer>} */
  async readTensor({ failure, address, length }) {
    if (failure) throw failure;
    // The heap may be shared memory; a slice never is.
    const { buffer } = this.wasm.HEAPU8.slice(address, address + length);
    if (performance.now() - this.lastTurn > TURN_MS) {
      await yieldToPage();
      this.lastTurn = performance.now();
    }
    return buffer;
  }

  /** Tensors and graphs are destroyed one by one; the instance stays for other contexts. */
  destroy() {}

  /** @param {number} length @returns {number} */
  #allocate(length) {
    const address = this.wasm._malloc(length);
    if (!address) {
      throw new BridgeError("DeviceError", `WebAssembly has no memory for ${length} more bytes`);
    }
    return address;
  }

  /** @param {Uint8Array} bytes @returns {number} */
  #copy(bytes) {
    const address = this.#allocate(bytes.byteLength);
    this.wasm.HEAPU8.set(bytes, address);
    return address;
  }

  /**
   * Make a call that may take much memory. If it throws, instead of returning an error, the
   * instance cannot be used any more.
   *
   * @template T @param {() => T} call @returns {T}
   */
  #callGuarded(call) {
    try {
      return call();
    } catch (error) {
      this.forget();
      this.lose({ message: text(error) });
      throw error;
    }
  }
}

/** Let the page handle pending events; timers would be clamped. @returns {Promise<void>} */
function yieldToPage() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** An ONNX Runtime tensor, and its address in the heap. */
class Tensor {
  /** @param {number} value @param {number} address @param {number} length @param {() => void} destroy */
  constructor(value, address, length, destroy) {
    this.value = value;
    this.address = address;
    this.length = length;
    this.destroy = destroy;
    /** @type {unknown} */
    this.failure = null;
  }
}
