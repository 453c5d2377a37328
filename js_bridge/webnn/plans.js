/**
 * Turns a plan into calls of an MLGraphBuilder; types.d.ts describes plans.
 *
 * @module
 */

import { BridgeError, text } from "../common.js";

/**
 * Call the builder for every part of a plan; a failure names the operator.
 *
 * @param {MLGraphBuilder} builder @param {Map<number, MLOperand>} operands
 * @param {Plan | ScanPlan} plan @param {Uint8Array<ArrayBuffer>} bytes
 */
export function assemble(builder, operands, plan, bytes) {
  const operand = (/** @type {number} */ id) => /** @type {MLOperand} */ (operands.get(id));
  const attempt = (/** @type {object} */ details, /** @type {() => void} */ call) => {
    try {
      call();
    } catch (error) {
      throw new BridgeError("BuildError", text(error), details);
    }
  };
  for (const { name, dtype: dataType, shape, id } of plan.inputs) {
    attempt({ operator: "input", label: name }, () => {
      operands.set(id, builder.input(name, { dataType, shape }));
    });
  }
  for (const { dtype: dataType, shape, id, offset, length } of plan.constants) {
    if (operands.has(id)) continue;
    attempt({ operator: "constant", label: `${dataType}[${shape}]` }, () => {
      const data = bytes.subarray(offset, offset + length);
      operands.set(id, builder.constant({ dataType, shape }, data));
    });
  }
  if ("length" in plan) scan(plan);
  else plan.operators.forEach(add);
  return builder.build(Object.fromEntries(plan.outputs.map(({ name, id }) => [name, operand(id)])));

  /** @param {ScanPlan} plan */
  function scan({ length, before, xs, init, carry, ys, after, operators }) {
    const slices = ys.map(() => /** @type {MLOperand[]} */ ([]));
    before.forEach(add);
    init.forEach(([first, input]) => operands.set(input, operand(first)));
    for (let step = 0; step < length; step += 1) {
      for (const [whole, part, shape] of xs) {
        const starts = shape.map((size, axis) => (axis === 0 ? step * size : 0));
        call("slice", "", [part], operand(whole), starts, shape);
      }
      operators.forEach(add);
      ys.forEach(([part], index) => slices[index]?.push(operand(part)));
      carry.map(([, output]) => operand(output)).forEach((value, index) => {
        operands.set(carry[index]?.[0] ?? -1, value);
      });
    }
    ys.forEach(([, whole], index) => call("concat", "", [whole], slices[index], 0));
    after.forEach(add);
  }

  /** @param {PlanOperator} operator */
  function add({ op, label, results, ...operator }) {
    const references = Object.entries(operator.references).map(([key, id]) => [key, operand(id)]);
    call(
      op,
      label,
      results,
      ...operator.operands.map((id) => (Array.isArray(id) ? id.map(operand) : operand(id))),
      ...operator.arguments,
      { ...operator.options, ...Object.fromEntries(references), label },
    );
  }

  /**
   * Call a method of the builder.
   *
   * @param {string} op @param {string} label @param {number[]} results @param {unknown[]} args
   */
  function call(op, label, results, ...args) {
    attempt({ operator: op, label }, () => {
      const method = /** @type {any} */ (builder)[op];
      if (!method) throw new Error("this browser's WebNN has no such operator");
      const output = method.apply(builder, args);
      [output].flat().forEach((result, index) => operands.set(results[index] ?? -1, result));
    });
  }
}
