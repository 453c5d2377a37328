/**
 * Pictures of a page as tensors, and tensors as pictures on a canvas, on the graphics card: numbers
 * are exchanged with a context by `createExportableTensor` and `exportToGPU` of MLContext.
 *
 * @module
 * @typedef {typeof import("./frames.js")} Frames
 * @typedef {import("./frames.js").Format} Format
 * @typedef {import("./frames.js").BridgeModule} BridgeModule
 * @typedef {{ tensor: number, format: Format }} PictureTensor
 * @typedef {any} GpuDevice
 */

import { BridgeError, text } from "../common.js";
import { contextOf, draw } from "../page/pixels.js";
import { countWords, paintShader, tensorShader } from "./shaders.js";

export { paintNumbers, readPicture } from "../page/pixels.js";

const { gpu } = /** @type {any} */ (navigator);
/** The usage of buffers that the host reads: MAP_READ, COPY_DST. */
const READ_BACK = 0x1 | 0x8;
/** The usage of textures that take pictures: COPY_DST, TEXTURE_BINDING, RENDER_ATTACHMENT. */
const PICTURE = 0x2 | 0x4 | 0x10;
/** Invocations of a shader in a workgroup, and the most workgroups in a row. */
const GROUP = 64;
const ROW = 32768;

/**
 * The systems on which Chromium shares tensors. On others it loses all devices and canvases of a
 * page that creates such a tensor (Chromium 147 and 153 on Linux).
 */
const SHARING = ["Windows", "macOS"];

/** The page's own device, until it is lost. @type {Promise<GpuDevice> | null} */
let opened = null;

/** @type {Frames["connect"]} */
export async function connect(bridge, context) {
  const { ml, options } = bridge.lookup(context, "context");
  if (!ml.createExportableTensor || !ml.exportToGPU) {
    throw new BridgeError("NotAvailable", "WebGPU cannot share the tensors of this backend");
  }
  const { platform } = /** @type {any} */ (navigator).userAgentData ?? {};
  if (options !== null && platform !== undefined && !SHARING.includes(platform)) {
    throw new BridgeError("NotAvailable", `browsers on ${platform} share no tensors with WebGPU`);
  }
  const adapter = await findAdapter();
  const { vendor, architecture, device: model, isFallbackAdapter } = adapter.info ?? {};
  if (isFallbackAdapter ?? adapter.isFallbackAdapter) {
    throw new BridgeError("NotAvailable", "WebGPU has no graphics card here");
  }
  // The tensors of ONNX Runtime are buffers of a device of its own.
  if (options === null) return new Link(bridge, context, ml.device, null, "");
  const subject = JSON.stringify([options, vendor, architecture, model]);
  return new Link(bridge, context, await openDevice(), options, subject);
}

async function findAdapter() {
  const adapter = await gpu?.requestAdapter();
  if (!adapter) throw new BridgeError("NotAvailable", "this browser has no WebGPU");
  return adapter;
}

/** Return a device that stays open until it is lost. */
function openDevice() {
  const opening = opened ??= findAdapter().then((adapter) => adapter.requestDevice());
  const forget = () => { opened = null; };
  opening.then((device) => device.lost.then(forget), forget);
  return opening;
}

/**
 * Return whether a context computes with tensors that it shares with a device.
 *
 * @param {any} ml @param {GpuDevice} device
 */
async function shares(ml, device) {
  try {
    const type = { dataType: "float32", shape: [4] };
    const builder = /** @type {any} */ (new MLGraphBuilder(ml));
    const graph = await builder.build({ y: builder.relu(builder.input("x", type)) });
    const x = await ml.createExportableTensor(type, device);
    const y = await ml.createExportableTensor(type, device);
    const input = await ml.exportToGPU(x);
    device.queue.writeBuffer(input, 0, new Float32Array([-1, 2, -3, 4]));
    input.destroy();
    ml.dispatch(graph, { x }, { y });
    const output = await ml.exportToGPU(y);
    const copy = device.createBuffer({ size: 16, usage: READ_BACK });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(output, 0, copy, 0, 16);
    device.queue.submit([encoder.finish()]);
    output.destroy();
    await copy.mapAsync(1); // READ
    return String(new Float32Array(copy.getMappedRange())) === "0,2,0,4";
  } finally {
    ml.destroy();
    device.destroy();
  }
}

/** A context and a device that share tensors. */
class Link {
  /**
   * @param {BridgeModule} bridge @param {number} context @param {GpuDevice} device
   * @param {object | null} options of the context @param {string} subject
   */
  constructor(bridge, context, device, options, subject) {
    this.bridge = bridge;
    this.context = context;
    this.device = device;
    this.options = options;
    this.subject = subject;
    /** Why the device was lost, null while it works. @type {string | null} */
    this.lost = null;
    device.lost.then((/** @type {any} */ info) => { this.lost = info.message || "lost"; });
  }

  /**
   * Open a context and a device for a trial: where browsers cannot share, they may lose them.
   *
   * @returns {Promise<import("./frames.js").Trial>}
   */
  async openTrial() {
    const device = await (await findAdapter()).requestDevice();
    try {
      const ml = await /** @type {any} */ (navigator).ml.createContext(this.options);
      return { passes: () => shares(ml, device).catch(() => false) };
    } catch (error) {
      device.destroy();
      throw error;
    }
  }

  /**
   * Create a tensor that both have.
   *
   * @param {string} dataType @param {string} shapeJson @param {number} bytes
   */
  async tensor(dataType, shapeJson, bytes) {
    const { ml } = this.bridge.lookup(this.context, "context");
    /** @type {number[]} */
    const shape = JSON.parse(shapeJson);
    const tensor = await ml.createExportableTensor({ dataType, shape }, this.device);
    return this.bridge.registerMember({ kind: "tensor", ml: tensor, context: this.context, bytes });
  }

  /**
   * Return what runs a graph on pictures.
   *
   * @param {number} graph @param {string} bindingJson @param {string} picturesJson
   */
  async painter(graph, bindingJson, picturesJson) {
    /** @type {[PictureTensor, PictureTensor]} */
    const [input, output] = JSON.parse(picturesJson);
    const painter = new Painter(this, graph, bindingJson, input, output);
    try {
      await painter.compile();
    } catch (error) {
      painter.close();
      throw error;
    }
    return painter;
  }
}

/**
 * Return the context of a canvas in the size of a tensor, on which graphics cards draw where
 * browsers let them.
 *
 * @param {Format} format
 */
function newInputContext({ width, height }) {
  return contextOf(new OffscreenCanvas(width, height), { alpha: false });
}

/** A graph with a picture before and one after it. */
class Painter {
  /**
   * @param {Link} link @param {number} graph @param {string} binding
   * @param {PictureTensor} input @param {PictureTensor} output
   */
  constructor(link, graph, binding, input, output) {
    this.link = link;
    this.graph = graph;
    this.binding = binding;
    this.input = input;
    this.output = output;
    const { width, height } = input.format;
    this.inputContext = newInputContext(input.format);
    this.texture = link.device.createTexture({
      size: [width, height], format: "rgba8unorm", usage: PICTURE,
    });
    this.outputCanvas = new OffscreenCanvas(output.format.width, output.format.height);
    this.surface = /** @type {any} */ (this.outputCanvas.getContext("webgpu"));
    /** @type {any} */
    this.toTensor = null;
    /** @type {any} */
    this.toPicture = null;
  }

  async compile() {
    const { device } = this.link;
    const format = gpu.getPreferredCanvasFormat();
    this.surface.configure({ device, format, alphaMode: "opaque" });
    const module = (/** @type {string} */ code) => device.createShaderModule({ code });
    const paint = module(paintShader(this.output.format));
    [this.toTensor, this.toPicture] = await Promise.all([
      device.createComputePipelineAsync({
        layout: "auto", compute: { module: module(tensorShader(this.input.format, GROUP)) },
      }),
      device.createRenderPipelineAsync({
        layout: "auto", vertex: { module: paint }, fragment: { module: paint, targets: [{ format }] },
      }),
    ]);
  }

  /** Run the graph on a picture, and paint the result. @param {any} picture @param {any} canvas */
  async paint(picture, canvas) {
    const { bridge, context, device } = this.link;
    const { ml } = bridge.lookup(context, "context");
    const target = contextOf(canvas);
    draw(this.inputContext, picture);
    const checks = [await this.#exchange(ml, this.input.tensor, (buffer) => this.#fill(buffer))];
    bridge.dispatch(this.graph, this.binding);
    checks.push(await this.#exchange(ml, this.output.tensor, (buffer) => this.#render(buffer)));
    const result = this.outputCanvas.transferToImageBitmap();
    // Work that a lost device was given has no result, and no error of its own.
    await device.queue.onSubmittedWorkDone();
    const messages = await Promise.all(checks.map(({ message }) => message));
    const fault = this.link.lost ?? messages.find((message) => message !== null);
    if (fault !== undefined) {
      result.close();
      throw new BridgeError("DeviceError", fault);
    }
    Object.assign(canvas, { width: result.width, height: result.height });
    target.drawImage(result, 0, 0);
    result.close();
  }

  /**
   * Give the buffer of a tensor to some work on the device, then give it back to the context.
   * Returns the promise of a message about invalid work, of null if it is valid, in an object.
   *
   * @param {any} ml @param {number} handle @param {(buffer: any) => void} work
   */
  async #exchange(ml, handle, work) {
    const { bridge, device } = this.link;
    const buffer = await ml.exportToGPU(bridge.lookup(handle, "tensor").ml);
    /** @type {Promise<string | null>} */
    let message;
    device.pushErrorScope("validation");
    try {
      work(buffer);
    } finally {
      message = device.popErrorScope().then((/** @type {any} */ e) => e?.message ?? null, text);
      buffer.destroy();
    }
    return { message };
  }

  /** Write the picture to a tensor. @param {any} buffer */
  #fill(buffer) {
    const { width, height } = this.input.format;
    const { texture } = this;
    try {
      this.link.device.queue.copyExternalImageToTexture(
        { source: this.inputContext.canvas }, { texture }, [width, height],
      );
    } catch (error) {
      if (/** @type {any} */ (error).name !== "SecurityError") throw error;
      // A canvas with a picture of another origin is never read again.
      this.inputContext = newInputContext(this.input.format);
      throw new BridgeError("PictureError", text(error));
    }
    this.#submit((encoder) => {
      const groups = Math.ceil(countWords(this.input.format) / GROUP);
      const pass = encoder.beginComputePass();
      this.#bind(pass, this.toTensor, texture.createView(), { buffer });
      pass.dispatchWorkgroups(Math.min(groups, ROW), Math.ceil(groups / ROW));
      pass.end();
    });
  }

  /** Paint a tensor. @param {any} buffer */
  #render(buffer) {
    const view = this.surface.getCurrentTexture().createView();
    this.#submit((encoder) => {
      const pass = encoder.beginRenderPass({
        colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }],
      });
      this.#bind(pass, this.toPicture, { buffer });
      pass.draw(3);
      pass.end();
    });
  }

  /** @param {(encoder: any) => void} encode */
  #submit(encode) {
    const { device } = this.link;
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
  }

  /** @param {any} pass @param {any} pipeline @param {any[]} resources */
  #bind(pass, pipeline, ...resources) {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.link.device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: resources.map((resource, binding) => ({ binding, resource })),
    }));
  }

  /** Free what was made for this painter; the tensors belong to the context. */
  close() {
    this.texture.destroy();
    this.surface.unconfigure();
  }
}
