/**
 * ONNX Runtime on WebGPU as an `MLContext`: tensors are buffers of the device.
 *
 * @module
 * @typedef {any} Ort the module of onnxruntime-web
 * @typedef {Record<string, Tensor>} Tensors
 * @typedef {{ session: any, destroy(): void }} Graph
 */

import { borrow } from "../common.js";

/** Types that are stored in GPU buffers; other tensors stay in the memory of the page. */
const ON_GPU = ["float32", "float16", "int64", "int32", "uint32", "uint8", "int4", "uint4"];
/** @type {Record<string, any>} */
const ARRAYS = {
  float32: Float32Array, float16: /** @type {any} */ (globalThis).Float16Array ?? Uint16Array,
  int64: BigInt64Array, uint64: BigUint64Array, int32: Int32Array, uint32: Uint32Array,
  int8: Int8Array, uint8: Uint8Array, int4: Uint8Array, uint4: Uint8Array,
};

/**
 * Return the module of onnxruntime-web at an address, with its WebAssembly.
 *
 * @param {string} address @param {Response} binary @param {string} wasmPaths @returns {Promise<Ort>}
 */
export async function start(address, binary, wasmPaths) {
  const [ort, wasmBinary] = await Promise.all([import(address), binary.arrayBuffer()]);
  // Threads need headers that make a page cross-origin isolated.
  const numThreads = globalThis.crossOriginIsolated ? navigator.hardwareConcurrency : 1;
  Object.assign(ort.env.wasm, { wasmPaths, wasmBinary, numThreads, proxy: false });
  ort.env.logLevel = "error";
  return ort;
}

/** @param {Ort} ort */
export function contextOf(ort) {
  return new WebGpuContext(ort);
}

/** The part of MLContext that the bridge calls. Work is done in the order of the calls. */
class WebGpuContext {
  /** @param {Ort} ort */
  constructor(ort) {
    this.ort = ort;
    /** @type {Promise<unknown>} */
    this.tail = Promise.resolve();
    /** @type {(info: { message: string }) => void} */
    this.lose = () => {};
    /** @type {Promise<{ message: string }>} */
    this.lost = new Promise((resolve) => { this.lose = resolve; });
    /** @type {any} */
    this.device = null;
    /** The first session: ONNX Runtime destroys its device with the last one. @type {any} */
    this.keeper = null;
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
    const bytes = borrow(model, (view) => view.slice());
    const session = await this.ort.InferenceSession.create(bytes, {
      executionProviders: ["webgpu"],
      logSeverityLevel: 3,
    });
    await this.#watch();
    this.keeper ??= session;
    return { session, destroy: () => { if (session !== this.keeper) this.#release(session); } };
  }

  /** Get the WebGPU device, which exists from the first session on, and watch for its loss. */
  async #watch() {
    if (this.device) return;
    this.device = await this.ort.env.webgpu.device;
    this.device.lost.then((/** @type {any} */ info) => {
      this.lose({ message: info.message || String(info.reason) });
    });
  }

  /** @param {{ dataType: string, shape: number[] }} type */
  async createTensor({ dataType, shape }) {
    // Earlier queued work still uses it.
    const tensor = new Tensor(dataType, shape, () => {
      this.#enqueue(() => tensor.free()).catch(() => {});
    });
    return tensor;
  }

  /**
   * Create a tensor whose buffer `exportToGPU` returns.
   *
   * @param {{ dataType: string, shape: number[] }} type @param {any} device
   */
  async createExportableTensor(type, device) {
    if (device !== this.device) throw new TypeError("tensors are on the device of ONNX Runtime");
    return this.createTensor(type);
  }

  /** Return the buffer of a tensor when earlier runs are queued. @param {Tensor} tensor */
  exportToGPU(tensor) {
    return this.#enqueue(() => {
      if (tensor.failure) throw tensor.failure;
      this.#value(tensor);
      tensor.buffer.destroy = () => {}; // which gives a buffer back
      return tensor.buffer;
    });
  }

  /** @param {Tensor} tensor @param {Uint8Array<ArrayBuffer>} data */
  writeTensor(tensor, data) {
    const bytes = data.slice().buffer; // the caller may change it as soon as this returns
    this.#enqueue(() => {
      tensor.failure = null;
      this.#fill(tensor, bytes);
    }).catch((error) => { tensor.failure = error; });
  }

  /**
   * Queue a run. Its failure is reported by reads of its outputs.
   *
   * @param {Graph} graph @param {Tensors} inputs @param {Tensors} outputs
   */
  dispatch(graph, inputs, outputs) {
    this.#enqueue(() => this.#run(graph.session, inputs, outputs)).catch((error) => {
      for (const tensor of Object.values(outputs)) tensor.failure = error;
    });
  }

  /** @param {Tensor} tensor @returns {Promise<ArrayBuffer>} */
  async readTensor(tensor) {
    return this.#enqueue(() => {
      if (tensor.failure) throw tensor.failure;
      const value = this.#value(tensor);
      return this.#onGpu(tensor) ? this.#download(tensor) : contents(value);
    });
  }

  /** Tensors and graphs are destroyed one by one. */
  destroy() {
    if (this.keeper) this.#release(this.keeper);
    this.keeper = null;
  }

  /** @param {any} session */
  #release(session) {
    this.#enqueue(() => session.release()).catch(() => {});
  }

  /** @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
  #enqueue(work) {
    const done = this.tail.then(work);
    this.tail = done.catch(() => {});
    return done;
  }

  /** @param {any} session @param {Tensors} inputs @param {Tensors} outputs */
  async #run(session, inputs, outputs) {
    const failed = Object.values(inputs).find((tensor) => tensor.failure);
    if (failed) throw failed.failure;
    const names = session.outputNames;
    // The ONNX graph lacks inputs that no output depends on.
    const feeds = Object.fromEntries(session.inputNames.map(
      (/** @type {string} */ name) => [name, this.#value(/** @type {any} */ (inputs[name]))],
    ));
    const fetches = Object.fromEntries(names.map((/** @type {string} */ name) => {
      const tensor = /** @type {Tensor} */ (outputs[name]);
      return [name, this.#onGpu(tensor) ? this.#value(tensor) : null];
    }));
    const results = await session.run(feeds, fetches);
    for (const name of names) {
      const tensor = /** @type {Tensor} */ (outputs[name]);
      tensor.failure = null;
      tensor.value = results[name];
    }
  }

  /** @param {Tensor} tensor */
  #onGpu(tensor) {
    return this.device !== null && ON_GPU.includes(tensor.dataType) && tensor.size > 0;
  }

  /**
   * Return the value of a tensor where it is stored: zeros until it is written.
   *
   * @param {Tensor} tensor
   */
  #value(tensor) {
    if (tensor.value === null) this.#fill(tensor, new ArrayBuffer(tensor.bytes));
    // It was written before there was a device.
    else if (this.#onGpu(tensor) && tensor.buffer === null) {
      this.#fill(tensor, contents(tensor.value));
    }
    return tensor.value;
  }

  /** @param {Tensor} tensor @param {ArrayBuffer} bytes */
  #fill(tensor, bytes) {
    const { dataType, shape: dims } = tensor;
    if (!this.#onGpu(tensor)) {
      tensor.value = new this.ort.Tensor(dataType, new ARRAYS[dataType](bytes), dims);
      return;
    }
    const padded = new Uint8Array(4 * Math.ceil(bytes.byteLength / 4)); // WebGPU copies words
    padded.set(new Uint8Array(bytes));
    if (tensor.buffer === null) {
      const usage = 0x4 | 0x8 | 0x80; // COPY_SRC, COPY_DST, STORAGE
      const size = 16 * Math.ceil(bytes.byteLength / 16);
      tensor.buffer = this.device.createBuffer({ size, usage });
      tensor.value = this.ort.Tensor.fromGpuBuffer(tensor.buffer, { dataType, dims });
    }
    this.device.queue.writeBuffer(tensor.buffer, 0, padded);
  }

  /** @param {Tensor} tensor */
  async #download(tensor) {
    const size = 4 * Math.ceil(tensor.bytes / 4);
    const staging = this.device.createBuffer({ size, usage: 0x1 | 0x8 }); // MAP_READ, COPY_DST
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(tensor.buffer, 0, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(1); // READ
      return staging.getMappedRange().slice(0, tensor.bytes);
    } finally {
      staging.destroy();
    }
  }
}

/** @param {{ data: Uint8Array<ArrayBuffer> }} value @returns {ArrayBuffer} */
function contents({ data }) {
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
}

/** A tensor: its value is an ONNX Runtime tensor, null until it is first needed. */
class Tensor {
  /** @param {string} dataType @param {number[]} shape @param {() => void} destroy */
  constructor(dataType, shape, destroy) {
    this.dataType = dataType;
    this.shape = shape;
    this.destroy = destroy;
    this.size = shape.reduce((a, b) => a * b, 1);
    this.bytes = dataType.endsWith("int4")
      ? Math.ceil(this.size / 2) : this.size * ARRAYS[dataType].BYTES_PER_ELEMENT;
    /** @type {any} */
    this.value = null;
    /** @type {any} */
    this.buffer = null;
    /** @type {unknown} */
    this.failure = null;
  }

  free() {
    delete this.buffer?.destroy; // of an export
    this.buffer?.destroy();
    this.value = null;
    this.buffer = null;
  }
}
