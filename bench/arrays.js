/**
 * The page of the contest of arrays: six programs in webnnm, with and without `jit`, jax-js and
 * TensorFlow.js, one of them in WebNN by hand as well.
 *
 * @module
 */
import { startPyodide } from "./pyodide.js";
import { load } from "./tfjs.js";

/** @typedef {any} Tensor @typedef {{ [name: string]: Tensor }} Data */
/** @typedef {{ shape: number[], values: Float32Array }} Numbers */
/** @typedef {{ iterate(limit: number): Promise<number>, state(count: number): Promise<any> }} Run */

/** Iterations between two reads of the state, unless a program has its own number. */
const BLOCK = 20;
/** @type {{ [program: string]: number }} */
const BLOCKS = { single: 1 };
const blockOf = (/** @type {string} */ program) => BLOCKS[program] ?? BLOCK;
const JAXJS = "/bench-packages/@jax-js/jax/dist/index.js";
const OURS = "/bench/array_programs/ours.py";
/** How the page runs programs of Python. */
const HARNESS = `
import time
import numpy  # where it is loaded, small arrays are computed by it
import array_programs
from webnnm import jit, xp

async def device():
    return (await xp.open_device("webnn")).backend.description

def opened(name, data, jitted, block):
    found = {}
    for key, (shape, values) in data.to_py().items():
        found[key] = xp.asarray(memoryview(values).cast("B").cast("f", shape))
    array_programs.jit = jit if jitted else without_jit
    return Program(getattr(array_programs, name)(found), block)

def without_jit(function=None, **_):
    return (lambda given: given) if function is None else function

class Program:
    def __init__(self, states, block):
        self.states, self.block = states, block

    async def state(self, count):
        for _ in range(count):
            state = next(self.states)
        return xp.reshape(await state, (-1,)).tolist()

    async def iterate(self, limit):
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < limit / 1000:
            for _ in range(self.block):
                state = next(self.states)
            await state
            done += self.block
        return 1000 * (time.perf_counter() - began) / done
`;

/** @type {any} */
let python = null;
/** @type {any} */
let jax = null;
/** @type {{ [contestant: string]: Run }} */
const open = {};

/** Start all contestants, and return facts about them. */
export async function beginArrays() {
  const pyodide = await startPyodide(["webnnm", "webnnm-rest", "numpy"], OURS, "array_programs.py");
  python = pyodide.globals;
  pyodide.runPython(HARNESS);
  jax = await import(/** @type {any} */ (JAXJS));
  const devices = await jax.init();
  jax.defaultDevice(devices.includes("webgpu") ? "webgpu" : "wasm");
  return {
    ours: await python.get("device")(),
    jaxjs: { devices, used: jax.defaultDevice() },
    tensorflow: await load("/bench-packages"),
  };
}

/**
 * The inputs of a program, the same whoever asks: numbers from −1 to 1, smaller ones for weights,
 * classes of rows for y, living cells for a board, a reflection for a.
 * @param {{ [name: string]: number[] }} shapes
 */
function inputs(shapes) {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 31 - 1;
  };
  /** @type {{ [name: string]: Numbers }} */
  const found = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const [rows = 1, columns] = shape;
    const values = new Float32Array(shape.reduce((a, b) => a * b, 1));
    const scale = name.startsWith("w") ? 1 / Math.sqrt(rows) : 1;
    for (let at = 0; at < values.length; at += 1) values[at] = scale * random();
    if (name === "board") values.forEach((value, at) => { values[at] = Number(value > 0.4); });
    else if (name === "y") classes(values, columns ?? 1);
    else if (name === "a") reflect(values, rows);
    found[name] = { shape, values };
  }
  return found;
}

/** Make rows of numbers those of classes: no or yes where there is one column.
 * @param {Float32Array} values @param {number} columns */
function classes(values, columns) {
  for (let at = 0; at < values.length; at += columns) {
    const row = values.subarray(at, at + columns);
    const best = row.indexOf(Math.max(...row));
    row.forEach((value, column) => {
      row[column] = Number(columns > 1 ? column === best : value > 0);
    });
  }
}

/** Make a matrix a reflection, which keeps the lengths of vectors.
 * @param {Float32Array} values @param {number} size */
function reflect(values, size) {
  const axis = values.slice(0, size);
  const square = axis.reduce((sum, each) => sum + each * each, 0);
  for (let at = 0; at < values.length; at += 1) {
    const [row, column] = [Math.floor(at / size), at % size];
    const product = (axis[row] ?? 0) * (axis[column] ?? 0);
    values[at] = Number(row === column) - (2 * product) / square;
  }
}

class Generated {
  /**
   * @param {Generator<Tensor>} states @param {number} block
   * @param {(state: Tensor) => Promise<Float32Array>} read
   */
  constructor(states, block, read) {
    this.states = states;
    this.block = block;
    this.read = read;
  }

  /** What the program holds after so many iterations. @param {number} count */
  async state(count) {
    let state = null;
    for (let k = 0; k < count; k += 1) state = this.states.next().value;
    return Array.from(await this.read(state));
  }

  /** Milliseconds of an iteration, over as many as fit into the time. @param {number} limit */
  async iterate(limit) {
    const began = performance.now();
    let done = 0;
    while (performance.now() - began < limit) {
      let state = null;
      for (let k = 0; k < this.block; k += 1) state = this.states.next().value;
      await this.read(state);
      done += this.block;
    }
    return (performance.now() - began) / done;
  }
}

/** The program "single" in WebNN by hand. @param {Numbers} numbers */
async function byHand({ shape, values }) {
  const context = await /** @type {any} */ (navigator).ml.createContext();
  const descriptor = { dataType: "float32", shape };
  const builder = /** @type {any} */ (new MLGraphBuilder(context));
  const factor = builder.constant({ ...descriptor, shape: [] }, new Float32Array([0.99]));
  const graph = await builder.build({ y: builder.mul(builder.input("x", descriptor), factor) });
  const both = { ...descriptor, readable: true, writable: true };
  const tensors = [await context.createTensor(both), await context.createTensor(both)];
  context.writeTensor(tensors[0], values);
  const states = function* states() {
    for (let [x, y] = tensors; ; [x, y] = [y, x]) {
      context.dispatch(graph, { x }, { y });
      yield y;
    }
  };
  const found = new Float32Array(values.length);
  return new Generated(states(), blockOf("single"), async (state) => {
    await context.readTensor(state, found);
    return found;
  });
}

/** @param {string} name @param {{ [name: string]: Numbers }} data @param {boolean} jitted */
async function inPython(name, data, jitted) {
  const given = Object.fromEntries(
    Object.entries(data).map(([key, { shape, values }]) => [key, [shape, values]]),
  );
  return python.get("opened")(name, given, jitted, blockOf(name));
}

/** @type {{ [contestant: string]: (name: string, data: { [name: string]: Numbers }) => Promise<Run> }} */
const makers = {
  ours: (name, data) => inPython(name, data, true),
  eager: (name, data) => inPython(name, data, false),
  webnn: (_name, { x }) => byHand(/** @type {Numbers} */ (x)),
  async jaxjs(name, data) {
    const programs = await import("./array_programs/jaxjs.js");
    const made = each(data, ({ shape, values }) => jax.numpy.array(values).reshape(shape));
    const states = /** @type {any} */ (programs)[name](made);
    return new Generated(states, blockOf(name), (state) => state.ref.data());
  },
  async tfjs(name, data) {
    const { tf } = /** @type {any} */ (globalThis);
    const programs = await import("./array_programs/tfjs.js");
    const made = each(data, ({ shape, values }) => tf.tensor(values, shape));
    const states = /** @type {any} */ (programs)[name](made);
    return new Generated(states, blockOf(name), (state) => state.data());
  },
};

/** @param {{ [name: string]: Numbers }} data @param {(numbers: Numbers) => Tensor} make */
function each(data, make) {
  return Object.fromEntries(Object.entries(data).map(([name, numbers]) => [name, make(numbers)]));
}

/** @param {string} contestant */
async function choose(contestant) {
  const [kind = "", backend] = contestant.split("/");
  if (kind === "tfjs") await /** @type {any} */ (globalThis).tf.setBackend(backend);
  return kind;
}

/** Open a program of a contestant, with the inputs of these shapes.
 * @param {string} contestant "ours", "eager", "webnn", "jaxjs" or "tfjs/" and a backend
 * @param {string} name @param {{ [name: string]: number[] }} shapes */
export async function openProgram(contestant, name, shapes) {
  const make = makers[await choose(contestant)];
  if (!make) throw new Error(`no contestant ${contestant}`);
  open[contestant] = await make(name, inputs(shapes));
}

/** Let the open program of a contestant do something.
 * @param {string} contestant @param {"iterate" | "state"} what @param {number} amount */
export async function runProgram(contestant, what, amount) {
  await choose(contestant);
  const result = await open[contestant]?.[what](amount);
  return result?.toJs?.() ?? result;
}
