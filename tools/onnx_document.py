"""Writes docs/onnx.md from the table of operators and the recorded counts of ONNX's cases."""

from __future__ import annotations

import json
from importlib import import_module

from tools import conformance
from tools.common import ROOT
from tools.operators import table
from webnnm.formats.onnx.importing.table import FAMILIES, Entry, entries

PAGE = ROOT / "docs" / "onnx.md"
PACKAGE = "webnnm/formats/onnx/importing"

INTRODUCTION = """\
# ONNX models

<!-- Written by `make documents`: change the table of operators in webnnm/formats/onnx/importing,
or the text in tools/onnx_document.py, not this file. -->

webnnm imports a model in an ONNX file as a tensor graph, which runs on every backend, has
gradients, and can be trained. This needs no other package.

[`webnnm.load_onnx`](api.md) loads it from a path, a URL or bytes. Three pages of the site show
trained models at work, from the file to the answer: [camera.py](../site/camera.py) paints what the
camera sees, [speech.py](../site/speech.py) keeps the state of a recurrent network between frames of
sound, [ocr.py](../site/ocr.py) finds and reads text with three networks of varying sizes. Their
models are not in the repository: `make models` downloads them, and `make serve` serves them.

## What is imported

{totals}

The table below lists the {count} operators of opsets 7 to 28, with the number of ONNX's operator
cases (`onnx.backend.test` of onnx {version}) that pass on NumPy and in browsers. Every other case
raises an error that says why; none gives a wrong result. Most of these need a type that WebNN does
not have, such as bfloat16, float8, strings, or sequences. On ONNX Runtime Web, four-bit types are
rejected as well, because it computes them incorrectly, and uint64 on the WebNN of
[Chromium](chromium.md).

- **Sizes.** WebNN graphs have fixed sizes. What a model computes about its own shapes is
  evaluated on the host once its free dimensions are known. If shapes depend on the values of an
  input, such as the sizes for Resize, `predict` builds a graph for these values.
- **Sizes that follow from data.** Detectors end in NonMaxSuppression, which returns as many boxes
  as it finds; NonZero, Compress, a Range up to a computed number, and a Loop with a computed end
  are of this kind as well. `predict` splits such a model: the graph up to that node runs, the
  values that determine the size are read, the node is computed on the host, and the rest becomes a
  second graph. Graphs of the same sizes are reused. `graph`, `apply` and exports need a single
  graph, and raise NNM816.
- **Types.** Float64 is computed as float32, which `report` mentions; values known when the graph
  is built are computed in float64, and outputs declared as float64 are returned as such.
  16-bit integers, which quantised models contain, are stored as int32. They can be quantised,
  dequantised, converted, compared and moved, but not used in arithmetic. String tensors that a
  node uses raise an error.
- **Random numbers** are drawn when the graph is built, from the `seed` of the node or else its
  name, and are the same in every run.
- **Constant indices** must be in range; computed indices beyond an axis select its nearest
  element, where ONNX Runtime raises an error.
- **Branches and loops.** If its condition is known, `If` takes that branch; otherwise both
  branches are computed and one result is chosen. `Loop` and `Scan` are unrolled.
- **Functions** in a model are expanded.
- **Booleans** are uint8, 0 and 1.
- **Integers.** Quantised models compute as the file says. QuantizeLinear divides in float32 and
  rounds halves to even, which is bit for bit what ONNX Runtime does: given the same
  inputs, all 9,203,044 elements from the 65 such nodes of an int8 MobileNet are identical. Sums in
  convolutions are accumulated in another order, so the values before quantisation differ in the
  last bits; a value halfway between two integers may then be rounded the other way, and later
  layers propagate a whole step of the scale. Outputs of deep int8 models are therefore only close
  on average.
- **Weights.** In the graphs that `predict` compiles, weights are constants, which devices lay out
  as they need them: EfficientNet-Lite0 runs 3.5 times as fast on WebNN's CPU as with weights that
  are inputs. Data of another size need another graph, with its own copy; 8 graphs are kept, or
  fewer if their weights exceed 512 MB. `graph` and `apply` take the weights as inputs, so that they
  can be trained. See [the comparison with ONNX Runtime Web](performance.md#onnx-models).
- **Trees** are evaluated for all rows at once. The label is the class with the largest score, as
  ONNX defines it, even for two classes, where ONNX Runtime looks only at the second score.
- **Left out.** Nodes that no output depends on are not imported, whatever they are.
- **Limits.** A model has at most 50,000 nodes, with loops and functions expanded, and nesting
  is limited. Tensors of up to 512 KiB are computed in advance, 64 MiB in all, larger ones on the
  device; positions and ranges written as constants have at most 64 MiB each.

## ONNX files from the Hugging Face hub

Many models are published for transformers.js as ONNX files, in the folder `onnx` beside
`config.json` and `tokenizer.json`. `pipeline` and `from_pretrained` open them if you select one
with `dtype`, or if a folder has no other weights:

```python
>>> import webnnm
>>> async def judge(folder):
...     async with await webnnm.pipeline("text-classification", folder, dtype="q8") as classify:
...         return await classify("What a day!")

```

| `dtype` | Files | Weights |
|---|---|---|
| `"fp32"` | `model.onnx` | float32 |
| `"fp16"` | `model_fp16.onnx` | float16 |
| `"q8"` | `model_quantized.onnx` | 8 bits |
| `"int8"`, `"uint8"` | `model_int8.onnx`, `model_uint8.onnx` | 8 bits |
| `"q4"`, `"q4f16"` | `model_q4.onnx`, `model_q4f16.onnx` | 4 bits, the rest float32 or float16 |
| `"bnb4"` | `model_bnb4.onnx` | NF4 or FP4 |

A dict selects a type for each file:
`dtype={{"encoder_model": "fp32", "decoder_model_merged": "q4"}}`.
Models with an encoder are in `encoder_model.onnx` and `decoder_model_merged.onnx`, or
`decoder_model.onnx`. Weights may be in further files beside these. webnnm cannot list
the files behind a URL, so pass `dtype` there.

The result is a [`PretrainedOnnxModel`](api.md#pretrainedonnxmodel): it predicts, generates and
transcribes like other [Hugging Face models](transformers.md), with the same arguments. Unlike a
`PretrainedModel` it has no text, so you can neither train nor change it; but it may have any
architecture.

Files that generate text take a cache of keys and values of any length. webnnm fixes its length
and masks the unused part, so that no graph has to be compiled for a new token. Files with
`attention_mask` and `position_ids`, or `GroupQueryAttention`, support that directly. Others derive
positions, and distances between tokens, from the length of the past, for example models with an
encoder, such as T5, BART and Whisper. For these, webnnm imports the file for two lengths to find
such values, and then computes them from the number of tokens; the encoder's keys and values are
computed once, and a text that continues an earlier one is computed from its beginning. If a file
has no cache or uses it differently, or if the texts of a batch differ in length and positions are
not an input, all tokens are computed again for each new one.

## In a model text

A block in a model text can be the graph of an ONNX file, up to any of its values: use the trunk of
a network that was trained elsewhere, and add layers of your own. See
[A.12](notation.md#a12-graphs-in-files) and [Transfer learning](transfer-learning.md).

## Other formats

`await net.save(path)` writes a loaded model as a snapshot, which `load_onnx` opens;
`await net.export(path, shapes)` writes its graph for given sizes, as ONNX or StableHLO, or with
`format="page"` as a page that runs it without Python ([Export a model](exporting.md)).
`await webnnm.export_graph(graph, path)` does the same for any graph of a `GraphBuilder`, and
[`webnnm convert`](command-line.md#convert) on the command line.

## Adding an operator

Each operator, or group of similar ones, is imported by a function in the modules of
[`{package}`](../{package}). A function is declared with `@imports("Name")`, takes a `Call` and the
operands in ONNX's order, and returns the result, or several:

<!-- not run: it is a part of a module of webnnm -->
```python
@imports("ThresholdedRelu")
def thresholded_relu(c: Call, x: Operand) -> Operand:
    \"\"\"x above α, else 0.\"\"\"
    above = c.b.greater(x, scalar_like(c, c.number("alpha", 1.0), x))
    return c.b.where(above, x, scalar_like(c, 0, x))
```

`c.b` is the graph builder. `c.integer`, `c.number`, `c.integers` and the like read attributes;
`c.opset` is the version of the operators, where they differ; `c.require_integers(x, "axes")`
returns the values of an operand that decides a shape; `c.not_supported("…")` is the error of a use
that cannot be imported. An operand that may be absent has the default `None`. The operator's cases
in `tests/conformance/test_onnx_cases.py` test it from then on; `make operators` records the new
counts and writes this page.

## Operators
"""


def page() -> str:
    """Return the text of docs/onnx.md."""
    counts = conformance.count_onnx_cases()
    introduction = INTRODUCTION.format(
        totals=_totals(counts),
        count=len(entries()),
        version=json.loads(conformance.ONNX.read_text())["onnx"],
        package=PACKAGE,
    )
    families = "\n".join(_family(name, counts) for name in FAMILIES)
    return f"{introduction}\n{families}\n{_missing(counts)}"


def _totals(counts: conformance.Counts) -> str:
    first, *others = (f"{total:,}" for total in conformance.sum_up(counts).values())
    _, *columns = next(iter(counts.values()))
    passed = ", ".join(f"{n} on {column}" for n, column in zip(others, columns, strict=True))
    return f"Of ONNX's {first} operator cases, these pass: {passed}; the others are refused."


def _family(name: str, counts: conformance.Counts) -> str:
    """Return the section on one family of operators."""
    module = import_module(f"{PACKAGE.replace('/', '.')}.{name}")
    title = (module.__doc__ or "").partition("\n")[0].rstrip(".")
    own = {
        key: entry for key, entry in entries().items() if entry.function.__module__.endswith(name)
    }
    columns = next(iter(counts.values()))
    rows = [_row(key, entry, counts) for key, entry in sorted(own.items())]
    text = table(["Operator", "What it computes", *columns], rows)
    return f"### {name.capitalize()}\n\n{title}: [{name}](../{PACKAGE}/{name}.py).\n\n{text}\n"


def _row(key: tuple[str, str], entry: Entry, counts: conformance.Counts) -> list[str]:
    domain, name = key
    columns = next(iter(counts.values()))
    own = counts.get(name, {}) if domain != "com.microsoft" else {}
    summary = (entry.function.__doc__ or "").partition("\n")[0].rstrip(".")
    return [
        f"{domain}.{name}" if domain else name,
        summary,
        *(str(own[column]) if own else "–" for column in columns),
    ]


def _missing(counts: conformance.Counts) -> str:
    """Return the section on operators that have cases, but no entry."""
    importable = {name for _, name in entries()}
    missing = sorted(counts.keys() - importable)
    return "### Not imported\n\nOperators with cases that are refused: " + (
        ", ".join(f"{name} ({counts[name]['Cases']})" for name in missing) + ".\n"
    )
