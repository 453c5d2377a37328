/**
 * Gives WebNN tensors that are shared with WebGPU, as its specification describes them, in browsers
 * without them: buffers are copied when they change hands. Work with a tensor that is lent fails.
 */

const tensors = new WeakMap();
/** Calls and resources, for tests. */
globalThis.interop = { contexts: 0, exports: 0, buffers: 0, textures: 0, devices: [] };

function count(prototype, create, kind, destroyed) {
  const make = prototype[create];
  prototype[create] = function counted(...args) {
    const made = make.apply(this, args);
    interop[kind] += 1;
    const live = { is: true };
    destroyed.set(made, () => {
      if (live.is) interop[kind] -= 1;
      live.is = false;
    });
    return made;
  };
}

const freed = new WeakMap();
count(GPUDevice.prototype, "createBuffer", "buffers", freed);
count(GPUDevice.prototype, "createTexture", "textures", freed);
for (const type of [GPUBuffer, GPUTexture]) {
  const { destroy } = type.prototype;
  type.prototype.destroy = function counted() {
    freed.get(this)?.();
    return destroy.call(this);
  };
}
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function noted(...args) {
  const device = await requestDevice.apply(this, args);
  interop.devices.push(device);
  return device;
};

/** What is said of SwiftShader, which is slow, but right. */
Object.defineProperty(GPUAdapterInfo.prototype, "isFallbackAdapter", { get: () => false });

if (globalThis.MLContext) {
  const { createContext } = ML.prototype;
  ML.prototype.createContext = function counted(...args) {
    interop.contexts += 1;
    return createContext.apply(this, args);
  };
}

/** Be a browser of a system on which tensors are shared. */
globalThis.changeSystem = () => {
  Object.defineProperty(NavigatorUAData.prototype, "platform", { get: () => "Windows" });
};

/** Let contexts share tensors with WebGPU. */
globalThis.shareTensors = () => {
  changeSystem();
  const { createTensor, dispatch, readTensor, writeTensor } = MLContext.prototype;
  /** What is left to do in a context before the next call. */
  const queues = new WeakMap();
  const enqueue = (context, work) => {
    const done = (queues.get(context) ?? Promise.resolve()).then(work);
    queues.set(context, done.catch(() => {}));
    return done;
  };
  const refuse = (...used) => {
    if (used.some((tensor) => tensors.get(tensor)?.lent)) {
      throw new DOMException("the tensor is exported", "InvalidStateError");
    }
  };
  MLContext.prototype.createExportableTensor = async function create(descriptor, device) {
    if (!(device instanceof GPUDevice)) throw new TypeError("no GPUDevice");
    const tensor = await createTensor.call(
      this, { dataType: descriptor.dataType, shape: descriptor.shape, readable: true, writable: true },
    );
    tensors.set(tensor, { device, lent: false });
    return tensor;
  };
  MLContext.prototype.exportToGPU = async function lend(tensor) {
    const state = tensors.get(tensor);
    if (!state) throw new TypeError("the tensor cannot be exported");
    refuse(tensor);
    state.lent = true;
    interop.exports += 1;
    const { device } = state;
    const contents = await enqueue(this, () => readTensor.call(this, tensor));
    const size = contents.byteLength;
    if (size % 4) throw new TypeError("this stand-in copies words");
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = device.createBuffer({ size, usage });
    device.queue.writeBuffer(buffer, 0, contents);
    const { destroy } = buffer;
    buffer.destroy = () => {
      if (!state.lent) return;
      state.lent = false;
      const copy = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
      device.queue.submit([encoder.finish()]);
      destroy.call(buffer);
      enqueue(this, async () => {
        try {
          await copy.mapAsync(GPUMapMode.READ);
          writeTensor.call(this, tensor, copy.getMappedRange().slice());
        } finally {
          copy.destroy();
        }
      }).catch(() => {});
    };
    return buffer;
  };
  MLContext.prototype.dispatch = function run(graph, inputs, outputs) {
    refuse(...Object.values(inputs), ...Object.values(outputs));
    if (!queues.has(this)) return dispatch.call(this, graph, inputs, outputs);
    enqueue(this, () => dispatch.call(this, graph, inputs, outputs)).catch(() => {});
    return undefined;
  };
  MLContext.prototype.readTensor = function read(tensor, ...rest) {
    refuse(tensor);
    return enqueue(this, () => readTensor.call(this, tensor, ...rest));
  };
  MLContext.prototype.writeTensor = function write(tensor, data) {
    refuse(tensor);
    const copy = ArrayBuffer.isView(data) ? data.slice() : data.slice(0);
    enqueue(this, () => writeTensor.call(this, tensor, copy)).catch(() => {});
  };
};
