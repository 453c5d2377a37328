/**
 * Runs the plan of a model in plain JavaScript, for browsers without WebNN and for small models.
 *
 * @module
 */

import { KERNELS } from "./kernels.js";

/** @typedef {import("./kernels.js").Tensor} Tensor */

/** @type {Record<string, any>} */
const ARRAYS = {
  float32: Float32Array, int32: Int32Array, uint8: Uint8Array, int8: Int8Array,
};

/** @param {Manifest} manifest @param {Uint8Array<ArrayBuffer>} weights @returns {Engine} */
export function openScript(manifest, weights) {
  const plan = manifest.plans[manifest.script ?? -1];
  if (!plan) throw new Error("the model has operators that plain JavaScript does not compute");
  const constants = plan.constants.map(({ id, dtype, shape, offset, length }) => {
    const numbers = new ARRAYS[dtype](weights.slice(offset, offset + length).buffer);
    return /** @type {[number, Tensor]} */ ([id, hold(numbers, dtype, shape)]);
  });
  return {
    name: "script",
    close: () => {},
    async run(inputs) {
      /** @type {Map<number, Tensor>} */
      const tensors = new Map(constants);
      for (const { name, id, dtype, shape } of plan.inputs) {
        tensors.set(id, hold(/** @type {ArrayLike<number>} */ (inputs[name]), dtype, shape));
      }
      for (const operator of plan.operators) compute(tensors, operator);
      return Object.fromEntries(plan.outputs.map(({ name, id }) => [name, take(tensors, id).data]));
    },
  };
}

/** Return numbers as kernels take them. @param {ArrayLike<any>} numbers @param {string} dtype @param {number[]} shape */
function hold(numbers, dtype, shape) {
  const data = dtype === "float32" ? Float32Array.from(numbers) : Int32Array.from(numbers);
  return { data, shape };
}

/** @param {Map<number, Tensor>} tensors @param {number} id */
function take(tensors, id) {
  return /** @type {Tensor} */ (tensors.get(id));
}

/** @param {Map<number, Tensor>} tensors @param {PlanOperator} operator */
function compute(tensors, { op, operands, arguments: args, options, references, results }) {
  const kernel = KERNELS[op];
  if (!kernel) throw new Error(`there is no operator ${op} in plain JavaScript`);
  const find = (/** @type {number} */ id) => take(tensors, id);
  const inputs = operands.map((id) => (Array.isArray(id) ? id.map(find) : find(id)));
  const named = Object.fromEntries(Object.entries(references).map(([name, id]) => [name, find(id)]));
  const outputs = [kernel(...inputs, ...args, { ...options, ...named })].flat();
  results.forEach((id, index) => tensors.set(id, /** @type {Tensor} */ (outputs[index])));
}
