/** The types of the bridge: the part of WebNN that it uses, plans, and what it keeps. */

interface MLTensorType {
  dataType: string;
  shape: number[];
}
interface MLTensor extends MLTensorType {
  destroy(): void;
}
interface MLGraph {
  /** In Chromium only. */
  devices?: readonly string[];
  destroy(): void;
}
type MLOperand = Readonly<MLTensorType>;
interface MLContext {
  readonly lost: Promise<{ message: string }>;
  /** In implementations of today's specification only. */
  readonly accelerated?: boolean;
  opSupportLimits(): object;
  createTensor(type: MLTensorType & { readable: boolean; writable: boolean }): Promise<MLTensor>;
  writeTensor(tensor: MLTensor, data: Uint8Array<ArrayBuffer>): void;
  readTensor(tensor: MLTensor): Promise<ArrayBuffer>;
  /** Adopted contexts may return a buffer instead of writing into this one. */
  readTensor(tensor: MLTensor, memory: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer | undefined>;
  dispatch(
    graph: MLGraph,
    inputs: Record<string, MLTensor>,
    outputs: Record<string, MLTensor>,
  ): void;
  /** Not in all browsers: a tensor that is lent to WebGPU until its buffer is destroyed. */
  createExportableTensor?(type: MLTensorType, device: unknown): Promise<MLTensor>;
  exportToGPU?(tensor: MLTensor): Promise<any>;
  destroy(): void;
}
/** A context that takes whole models instead of calls of MLGraphBuilder. */
interface AdoptedContext extends MLContext {
  /** The device of WebGPU whose buffers its tensors are. */
  readonly device?: unknown;
  load(model: import("./webnn/bridge.js").Bytes): Promise<MLGraph>;
}
interface MLGraphBuilder {
  input(name: string, type: MLTensorType): MLOperand;
  constant(type: MLTensorType, data: Uint8Array<ArrayBuffer>): MLOperand;
  build(outputs: Record<string, MLOperand>): Promise<MLGraph>;
}
declare const MLContext: { prototype: MLContext };
declare const MLGraphBuilder: { new (context: MLContext): MLGraphBuilder };
interface ML {
  createContext(options?: object): Promise<MLContext>;
}
interface Navigator {
  readonly ml?: ML;
}
interface WorkerNavigator {
  readonly ml?: ML;
}

/** The type of an input, a constant or an output of a plan (webnnm/compiler/plan.py), with its number. */
interface PlanTensor {
  name: string;
  dtype: string;
  shape: number[];
  id: number;
}
/** An operator of a plan: `builder[op](...operands, ...arguments, {...options})`. */
interface PlanOperator {
  op: string;
  operands: (number | number[])[];
  arguments: unknown[];
  options: Record<string, unknown>;
  references: Record<string, number>;
  label: string;
  results: number[];
}
interface Plan {
  inputs: PlanTensor[];
  /** The bytes are at an offset in the buffer of the plan, in a tensor, given by its handle, or in
   * an array of their own, given by its number. */
  constants: (PlanTensor & {
    length: number;
    offset: number;
    tensor?: number;
    beside?: number;
  })[];
  operators: PlanOperator[];
  outputs: PlanTensor[];
}
/** A plan whose operators run several times, between others that run once. */
interface ScanPlan extends Plan {
  length: number;
  before: PlanOperator[];
  /** Each step takes a part of this shape, along the first axis. */
  xs: [whole: number, part: number, shape: number[]][];
  /** An input of the first step takes this. */
  init: [first: number, input: number][];
  /** An input takes the value of this output in the previous step. */
  carry: [input: number, output: number][];
  /** The parts from all steps are concatenated along the first axis. */
  ys: [part: number, whole: number][];
  after: PlanOperator[];
}

/** A context, the handles of what was made in it, and why it was lost (null if it was not). */
interface BridgeContext {
  kind: "context";
  ml: MLContext;
  /** What it was created with, null if another module did that. */
  options: object | null;
  members: Set<number>;
  lost: string | null;
}
interface BridgeTensor {
  kind: "tensor";
  ml: MLTensor;
  context: number;
  bytes: number;
}
interface BridgeGraph {
  kind: "graph";
  ml: MLGraph;
  context: number;
  bytes: number;
  /** The number of steps that may be queued, from the duration of the steps so far. */
  ahead: number;
}
/** A graph that runs again and again with the same tensors. */
interface BridgeRunner {
  kind: "runner";
  context: number;
  /** The data that the next run writes, by written tensor, and those that the last run read. */
  buffers: { inputs: Uint8Array<ArrayBuffer>[]; output: Uint8Array<ArrayBuffer> };
  answer: import("./webnn/bridge.js").Answer;
  names: { graph: number; binding: [Names, Names]; written: number[]; read: number[] };
  /** What the names refer to, as of this number of releases. */
  bound: (Bound & { graph: MLGraph; written: MLTensor[]; read: BridgeTensor[] }) | null;
  releases: number;
  /** What the last run read. */
  results: Uint8Array<ArrayBuffer>;
}
type Entry = BridgeContext | BridgeTensor | BridgeGraph | BridgeRunner;

/** The tensors that a graph is dispatched with; `check` is the handle of the smallest output. */
interface Bound {
  inputs: Record<string, MLTensor>;
  outputs: Record<string, MLTensor>;
  check: number;
}
type Names = Record<string, number>;
