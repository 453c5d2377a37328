/** The manifest of an exported page (webnnm/formats/page), and what runs its plans. */

/** How numbers are standardised: z = (x - mean) / std, for `repeat` neighbours each. */
interface Scale {
  mean: number[];
  std: number[];
  repeat: number;
  /** Whether x is log(1 + x) of the data. */
  logarithm?: boolean;
  /** By feature, the numbers whose normal scores are known, and these scores. */
  quantiles?: ([number[], number[]] | null)[];
  /** Whether float32 has too few steps within a standard deviation. */
  coarse: boolean;
}

/** How the numbers of a column were written in the training rows, where not as JavaScript does. */
interface NumberFormat {
  decimal?: string;
  thousands?: string;
  unit?: string;
  currency?: string;
  missing?: string[];
}
/** A column of numbers. */
interface NumberEncoder {
  name: string;
  fill: number | null;
  format?: NumberFormat;
  /** Whether a further number tells that the cell is missing. */
  indicator?: boolean;
}
/** A column of words, which become a 1 among zeros. */
interface WordEncoder {
  name: string;
  categories: string[];
  unknown: "error" | "zeros";
  fill: number[];
  /** How many numbers stand for words that are no categories: one for all, several by their hashes. */
  others?: number;
  indicator?: boolean;
}
/** A column of dates: the order of day and month, what is made of them, and the first day. */
interface DateEncoder {
  name: string;
  dates: "ymd" | "dmy" | "mdy";
  parts: ("days" | "season" | "weekday" | "time")[];
  origin: number;
  fill: number[];
  indicator?: boolean;
}
type Encoder = NumberEncoder | WordEncoder | DateEncoder;

/** How the steps of series become windows (webnnm/data/series/series_encoder.py). */
interface SeriesFormat {
  targets: NumberEncoder[];
  past: Encoder[];
  ahead: Encoder[];
  window: number;
  horizon: number;
  time: string;
  dates: DateEncoder["dates"] | null;
  calendar: DateEncoder | null;
  step: ["number" | "day" | "weekday" | "month", number] | null;
  id: string;
  missing: "error" | "fill" | "ignore";
  quantiles: number[];
  margins?: number[][];
  /** Whose level scales a window. */
  scaling: "all" | "series" | "window";
  levels: Record<string, Level[]>;
  /** The names of the columns in the order of the training's table. */
  columns: string[];
  /** The last window of each series of the dataset. */
  recent: Record<string, Steps>;
}
/** The mean and the deviation of a channel. */
type Level = [number, number];
/** The steps of a series in order of time; `ahead` may go on after the end of `past`. */
interface Steps {
  times: number[];
  past: number[][];
  ahead: number[][];
}

/** How a row becomes the numbers of an input's tensor (preprocessing.py). */
interface RowFormat {
  kind: "columns" | "picture" | "series" | "sound" | "text" | "numbers";
  dtype: string;
  /** For numbers: as a form asks for them, null for an open length. */
  shape?: (number | null)[];
  fieldShape: number[];
  axes: number[];
  sequence?: string;
  length?: number;
  scale?: Scale;
  ids?: number;
  named?: boolean;
  encoders?: Encoder[];
  light?: { white: number; ofBytes: boolean };
  /** How pictures of any size are brought to that of the model; without it, as they are drawn. */
  fit?: import("../page/fitting.js").Fit;
  /** Of sounds: samples per second. */
  rate?: number;
  names?: string[];
  letters?: string[];
  series?: SeriesFormat;
  /** Of texts: the address of the tokenizer, relative to the manifest. */
  tokenizer?: string;
  /** Of texts: the tokens after which they are cut, and their name in rows with names. */
  cut?: number;
  column?: string;
  /** What the positions of a row hold if it does not say so. */
  fill?: number[];
}

/** What the numbers of an output mean. */
interface AnswerFormat {
  shape: number[];
  positions: boolean;
  kind?: "classes" | "onehot" | "multilabel" | "boxes";
  classes?: number;
  labels?: string[] | null;
  scale?: "probability" | "logit" | "logProbability" | null;
  target?: Scale;
  /** Of boxes: the input with the picture, and what pictures are brought to. */
  picture?: { input: string; width: number; height: number; fit?: import("../page/fitting.js").Fit };
}

/** A box around an object, in pixels of the picture. */
interface PredictedBox {
  x: number;
  y: number;
  width: number;
  height: number;
  label: any;
  score: number;
}

/** A graph of probes: what it computes is compared with what it should. */
interface Trial {
  plan: Plan;
  /** Offset and length among the weights. */
  data: [number, number];
  expected: [number, number];
  /** The fault that a wrong answer shows, -1 for the control; type, bytes and tolerance of outputs. */
  answers: { fault: number; outputs: [string, number, number][] }[];
}

interface Manifest {
  format: "webnnm-page";
  version: number;
  name: string;
  /** The address relative to the manifest, and the number of bytes. */
  weights: { path: string; length: number };
  inputs: Record<string, RowFormat>;
  outputs: Record<string, AnswerFormat>;
  /** The engines that can run the model, in the order of preference. */
  engines: EngineName[];
  plans: Plan[];
  webnn: {
    faults: string[];
    /** A digest of all probes and of what they should answer. */
    probes: string;
    trials: Trial[];
    choices: { avoids: number[]; nchw: number; nhwc: number }[];
  } | null;
  script: number | null;
  /** Addresses relative to the manifest, and the graph's inputs and outputs by their names there. */
  onnxruntime: {
    model: string;
    folder: string;
    inputs: Omit<PlanTensor, "id">[];
    outputs: (Omit<PlanTensor, "id"> & { result: string })[];
  } | null;
}

type EngineName = "webnn" | "onnxruntime" | "script";

/** Return the weights, which are fetched once. */
type FetchWeights = () => Promise<Uint8Array<ArrayBuffer>>;

/** Start an engine; `url` is the address of the manifest. */
type StartEngine = (
  manifest: Manifest,
  fetchWeights: FetchWeights,
  url: string,
) => Promise<Engine>;

/** Numbers of a tensor, by name of the input or output. */
type Numbers = Record<string, ArrayLike<number>>;

/** What runs the plan of a model. */
interface Engine {
  name: EngineName;
  run(inputs: Numbers): Promise<Numbers>;
  close(): void;
}
