/**
 * The models of the contest on WebNN, forward and backward written by hand.
 *
 * @module
 * @typedef {import("./webnn.js").Model} Model
 */
import { oneHot } from "./webnn.js";
import {
  attention, behindPooling, behindRelu, channelsLast, conv, dense, gelu, layerNorm, lstm,
} from "./webnn_layers.js";

/** Dense layers with relu in between. @type {Model} */
const mlp = {
  features: ({ facts }) => [facts.sizes[0]],
  layers(step, x) {
    const { b } = step;
    /** @type {number[]} */
    const sizes = step.workload.facts.sizes;
    const layers = sizes.slice(1).map((units, index) => (
      dense(step, `w${index + 1}`, `b${index + 1}`, sizes[index] ?? 0, units)
    ));
    const values = [x];
    layers.forEach((layer, index) => {
      const z = layer.forward(values[index]);
      values.push(index < layers.length - 1 ? b.relu(z) : z);
    });
    return {
      logits: values.at(-1),
      backward(g) {
        for (let index = layers.length - 1; index >= 0; index -= 1) {
          const before = layers[index]?.backward(values[index], g, index > 0);
          g = index > 0 ? behindRelu(step, before, values[index]) : null;
        }
      },
    };
  },
};

/** Two convolutions with relu and pooling, two dense layers. @type {Model} */
const cnn = {
  features: () => [28, 28, 1],
  layers(step, x, rows) {
    const { b } = step;
    const first = conv(step, "f1", "c1", [8, 5, 5, 1], 2);
    const second = conv(step, "f2", "c2", [16, 5, 5, 8], 0);
    // The weights are those of data with the channels in front.
    const data = channelsLast(step.numbers("w1"), 16, 25, 128);
    const third = dense(step, "w1", "b1", 400, 128, data);
    const last = dense(step, "w2", "b2", 128, 10);
    const pooling = { windowDimensions: [2, 2], strides: [2, 2], layout: "nhwc" };
    const y1 = b.relu(first.forward(x));
    const p1 = b.maxPool2d(y1, pooling);
    const y2 = b.relu(second.forward(p1));
    const p2 = b.maxPool2d(y2, pooling);
    const flat = b.reshape(p2, [rows, 400]);
    const y3 = b.relu(third.forward(flat));
    return {
      logits: last.forward(y3),
      backward(g) {
        g = behindRelu(step, last.backward(y3, g), y3);
        g = b.reshape(third.backward(flat, g), [rows, 5, 5, 16]);
        g = second.backward(p1, behindPooling(step, g, p2, y2));
        first.backward(x, behindPooling(step, g, p1, y1), false);
      },
    };
  },
};

/** A recurrent layer and a dense one on its last state. @type {Model} */
const recurrent = {
  features: ({ features }) => features,
  layers(step, x, rows) {
    const { features: [length, inputs], facts: { units } } = step.workload;
    const memory = lstm(step, inputs, units, length);
    const last = dense(step, "w2", "b1", units, 10);
    const state = memory.forward(x, rows);
    return {
      logits: last.forward(state),
      backward: (g) => memory.backward(last.backward(state, g)),
    };
  },
};

/** Attention and two dense layers, normalised behind each; a dense layer on the mean. @type {Model} */
const transformer = {
  features: ({ features }) => features,
  layers(step, x, rows) {
    const { b } = step;
    const { features: [length, width], facts: { heads, inner } } = step.workload;
    const attend = attention(step, ["q1", "k1", "v1", "p1"], width, heads, length, false);
    const first = layerNorm(step, "s1", "t1", width);
    const up = dense(step, "w1", "b1", width, inner);
    const down = dense(step, "w2", "b2", inner, width);
    const second = layerNorm(step, "s2", "t2", width);
    const last = dense(step, "w3", "b3", width, 10);
    const flat = b.reshape(x, [rows * length, width]);
    const middle = first.forward(b.add(flat, attend.forward(flat, rows)));
    const high = b.relu(up.forward(middle));
    const end = second.forward(b.add(middle, down.forward(high)));
    const mean = b.reduceMean(b.reshape(end, [rows, length, width]), { axes: [1] });
    return {
      logits: last.forward(mean),
      backward(g) {
        const share = b.mul(last.backward(mean, g), step.number(1 / length));
        const wide = b.expand(b.reshape(share, [rows, 1, width]), [rows, length, width]);
        g = second.backward(b.reshape(wide, [rows * length, width]));
        const lower = behindRelu(step, down.backward(high, g), high);
        g = first.backward(b.add(g, up.backward(middle, lower)));
        attend.backward(g, false);
      },
    };
  },
};

/**
 * A block of a GPT: attention and two products with gelu in between, each normalised before.
 *
 * @param {import("./webnn_layers.js").Step} step @param {number} number
 */
function block(step, number) {
  const { b } = step;
  const { features: [length], facts: { heads, width } } = step.workload;
  const names = ["q", "k", "v", "o"].map((name) => `${name}${number}`);
  const first = layerNorm(step, `s${2 * number - 1}`, null, width);
  const attend = attention(step, names, width, heads, length, true);
  const second = layerNorm(step, `s${2 * number}`, null, width);
  const up = dense(step, `up${number}`, null, width, 4 * width);
  const activation = gelu(step);
  const down = dense(step, `down${number}`, null, 4 * width, width);
  /** @type {any} */
  let kept = null;
  return {
    /** @param {any} x @param {number} rows */
    forward(x, rows) {
      const attended = b.add(x, attend.forward(first.forward(x), rows));
      const normal = second.forward(attended);
      const high = activation.forward(up.forward(normal));
      kept = { normal, high };
      return b.add(attended, down.forward(high));
    },
    /** @param {any} g */
    backward(g) {
      const { normal, high } = kept;
      const inner = up.backward(normal, activation.backward(down.backward(high, g)));
      const attended = b.add(g, second.backward(inner));
      return b.add(attended, first.backward(attend.backward(attended)));
    },
  };
}

/** A GPT: letters and their places, blocks, the table of the letters once more. @type {Model} */
const gpt = {
  features: ({ features }) => features,
  layers(step, ids, rows) {
    const { b } = step;
    const { features: [length], classes, facts: { layers, width } } = step.workload;
    const table = step.parameter("table", [classes, width]);
    const place = step.parameter("place", [length, width]);
    const blocks = Array.from({ length: layers }, (_, index) => block(step, index + 1));
    const last = layerNorm(step, `s${2 * layers + 1}`, null, width);
    let x = b.reshape(b.add(b.gather(table, ids), place), [rows * length, width]);
    for (const each of blocks) x = each.forward(x, rows);
    const end = last.forward(x);
    return {
      logits: b.matmul(end, b.transpose(table)),
      backward(g) {
        let back = last.backward(b.matmul(g, table));
        for (const each of [...blocks].reverse()) back = each.backward(back);
        const ofPlaces = b.reduceSum(b.reshape(back, [rows, length, width]), { axes: [0] });
        step.learn("place", place, ofPlaces);
        const given = oneHot(b, b.reshape(ids, [1, rows * length]), [classes, 1]);
        const ofTable = b.add(b.matmul(b.transpose(g), end), b.matmul(given, back));
        step.learn("table", table, ofTable);
      },
    };
  },
};

/** @type {{ [kind: string]: Model }} */
export const MODELS = { mlp, cnn, lstm: recurrent, transformer, gpt };
