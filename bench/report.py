"""The tables of the contest as Markdown, and the limits that they must meet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

Results = Mapping[str, Any]

CONTESTANTS = ("ours", "webnn", "tfjs", "torch")


@dataclass(frozen=True)
class Limit:
    """The limit of a number: at most or at least `bound`."""

    bound: float
    least: bool = False

    def describe(self, value: float) -> str:
        """Return the limit, and whether a number meets it."""
        met = value >= self.bound if self.least else value <= self.bound
        sign = "≥" if self.least else "≤"
        return f"{sign} {self.bound:g} {'met' if met else 'missed'}"


def at_least(bound: float) -> Limit:
    """Return the limit for a number that is better if it is larger."""
    return Limit(bound, least=True)


STEP_LIMITS: Mapping[str, Mapping[str, Limit]] = {
    "mlp_large": {"webnn": Limit(1.05), "tfjs": at_least(10), "torch": at_least(0.5)},
    "mlp_tiny": {"webnn": Limit(0.4), "tfjs": at_least(20), "torch": at_least(3)},
    "cnn": {"webnn": Limit(1.15), "tfjs": at_least(30), "torch": at_least(0.25)},
    "lstm": {"webnn": Limit(1)},
    "transformer": {"webnn": Limit(1.05)},
    "gpt": {"webnn": Limit(1.05), "torch": at_least(0.5)},
}
FALLBACK_LIMITS: Mapping[str, Mapping[str, Limit]] = {
    "mlp_large": {"numpy": at_least(10), "tfjs": at_least(4)},
    "cnn": {"tfjs": at_least(20)},
}
ONE_ROW = Limit(1.3)
ONNX_RUN, ONNX_FIRST = Limit(1), Limit(0.8)
"""For ONNX models, compared with ONNX Runtime Web, on WebNN too."""
LANGUAGE: Mapping[str, Mapping[str, Limit]] = {
    "decode": {"wllama": at_least(2), "torch": at_least(0.8)},
    "prompt": {"wllama": at_least(10)},
}
"""For language models, compared with llama.cpp in the same browser and PyTorch."""
START: Mapping[str, Mapping[str, Limit]] = {
    "step": {"TensorFlow.js, wasm": Limit(1.2)},
    "picture": {"ONNX Runtime Web, WebNN": Limit(1.3)},
    "sentence": {"transformers.js, wasm": Limit(1)},
    "tokens": {"wllama": Limit(1.2)},
}
"""For what is there first after a navigation: our seconds, divided by those of another page."""
PIPELINES: Mapping[str, Mapping[str, Limit]] = {
    "WebNN": {"call": Limit(1), "first": Limit(1)},
    "wasm": {"call": Limit(1.1), "first": Limit(1)},
}
"""For tasks, our time divided by that of transformers.js or LiteRT.js, by what both run on."""
BUILDING = Limit(3)
"""For graphs of 2,000 operators or more."""
DEEP = Limit(1.1)
"""For networks of 32 layers or more."""


@dataclass(frozen=True)
class Fact:
    """A number outside the tables: its place, its unit, its limit."""

    section: str
    label: str
    value: Callable[[Any], float]
    unit: str
    limit: Limit | None = None


FACTS = (
    Fact(
        "iris",
        "Iris page, click on Train to tested model, first time after the start of Pyodide",
        lambda r: r["click"],
        "s",
        Limit(1.5),
    ),
    Fact("iris", "Iris page, second click", lambda r: r["click_again"], "s"),
    Fact(
        "iris",
        "Iris from Python: `create`, `train()` and `test()`, first use in a page",
        lambda r: r["defaults"],
        "s",
    ),
    Fact(
        "iris", "Iris, 5,000 epochs in batches of 16, made and tested", lambda r: r["long"], "s",
        Limit(2),
    ),
    Fact(
        "python",
        "Python per step, tiny MLP, a whole training of 100,000 steps",
        lambda r: r["python_us_whole"][1],
        "µs",
        Limit(5),
    ),
    Fact("python", "the same of 10,000 steps", lambda r: r["python_us_whole"][0], "µs"),
    Fact(
        "python", "the same, step by step in the long run", lambda r: r["python_us"], "µs"
    ),
    Fact(
        "python", "calls of the bridge per step, 100,000 steps",
        lambda r: r["round_trips_per_step"], "",
    ),
    Fact("python", "tensors made per step", lambda r: r["tensors_per_step"], "", Limit(0)),
    Fact(
        "python",
        "growth of the memory over trainings of 10,000 and 100,000 steps",
        lambda r: float(not r["ledger_flat"]),
        "",
        Limit(0),
    ),
)  # fmt: skip


def number(value: float | None) -> str:
    """Return a number with three significant digits.

    >>> number(0.08351), number(13.26), number(4212.3), number(None)
    ('0.0835', '13.3', '4,212', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is the head, the first column text."""
    head, *others = rows
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _format_ratio(ratio: float | None, limit: Limit | None) -> str:
    """Return a ratio and, if it has a limit, whether it meets it."""
    verdict = f" ({limit.describe(ratio)})" if limit and ratio is not None else ""
    return number(ratio) + verdict


def _contestants(result: Results, limits: Mapping[str, Limit]) -> list[str]:
    """Return the cells of a row: four times, then three ratios with their limits."""
    ours = result["ours"]
    cells = [number(ours), number(result["webnn"])]
    cells.append(f"{number(result['tfjs'])} ({result['tfjs_backend'] or 'none'})")
    cells.append(f"{number(result['torch'])} ({result['torch_threads']})")
    ratios = {"webnn": ours / result["webnn"], "torch": result["torch"] / ours}
    if result["tfjs"] is not None:
        ratios["tfjs"] = result["tfjs"] / ours
    return cells + [_format_ratio(ratios.get(name), limits.get(name)) for name in CONTESTANTS[1:]]


def _rows(result: Results) -> str:
    """Return the title of an inference."""
    title, _, _ = result["title"].partition(", batch")
    return f"{title}, {result['rows']} row{'s' if result['rows'] > 1 else ''}"


def _prediction_ratio(result: Results) -> str:
    """Return the ratio of a prediction."""
    ratio = result["predict"] / result["webnn"]
    return _format_ratio(ratio, ONE_ROW if result["rows"] == 1 else None)


def _graph_cells(result: Results) -> list[str]:
    """Return the cells of a graph."""
    ours, ratio = result["ours"], result["ours"]["time"] / result["webnn"]
    limit = BUILDING if result["operators"] >= 2000 else None
    times = [ours["declare"], ours["compile"], ours["device"], result["webnn"]]
    cells = [f"{result['operators']:,}", *map(number, times)]
    return [*cells, _format_ratio(ratio, limit), number(ours["differentiate"])]


def _scaling_ratio(kind: str, point: Results) -> str:
    """Return the ratio of a point."""
    ratio = point["ours"] / point["webnn"]
    deep = kind == "depth" and point["value"] >= 32
    return _format_ratio(ratio, DEEP if deep else None)


def _fallback(name: str, result: Results) -> list[str]:
    """Return the cells of a row: three times, two ratios with their limits."""
    ours = result["onnxruntime"]
    cells = [result["title"], number(ours), number(result["numpy"])]
    cells.append(f"{number(result['tfjs'])} ({result['tfjs_backend']})")
    for other in ("numpy", "tfjs"):
        time = result[other]
        cells.append(_format_ratio(time and time / ours, FALLBACK_LIMITS[name].get(other)))
    return cells


def _onnx(result: Results) -> list[str]:
    """Return the cells of a model: three times of a run and to the first result, with ratios."""
    cells = [result["title"]]
    for kind, limit in (("run", ONNX_RUN), ("first", ONNX_FIRST)):
        times = result[kind]
        cells += [number(times[name]) for name in ("ours", "webnn", "wasm")]
        cells.append(_format_ratio(times["ours"] / times["webnn"], limit))
    return cells


def _language(result: Results, kind: str, title: str) -> list[str]:
    """Return the cells of a row: three speeds, two ratios with their limits."""
    ours = result["ours"][kind]
    cells = [title, *(number(result[name][kind]) for name in ("ours", "wllama", "torch"))]
    for other in ("wllama", "torch"):
        cells.append(_format_ratio(ours / result[other][kind], LANGUAGE[kind].get(other)))
    return cells


def _start(result: Results) -> Iterator[list[str]]:
    """Yield the rows of first results: seconds, and our seconds divided by them, per browser."""
    medians = result["medians"]
    for name, title in result["titles"].items():
        for contestant in next(iter(medians.values()))[name]:
            cells = [title, contestant]
            limit = START.get(name, {}).get(contestant)
            for version in medians:
                times = medians[version][name]
                cells.append(number(times[contestant]))
                ratio = times["webnnm"] / times[contestant]
                cells.append("" if contestant == "webnnm" else _format_ratio(ratio, limit))
            yield cells


def _pipelines(result: Results, kind: str) -> Iterator[list[str]]:
    """Yield the rows of tasks: our times, theirs and ratios, by what both run on."""
    for name, title in result["titles"].items():
        times = result["medians"].get(name, {})
        cells = [title]
        for device, limits in PIPELINES.items():
            both = [times.get(f"{who}, {device}") for who in ("ours", "theirs")]
            cells += [number(time[kind] if time else None) for time in both]
            ours, theirs = both
            ratio = ours[kind] / theirs[kind] if ours and theirs else None
            cells.append("–" if ratio is None else _format_ratio(ratio, limits[kind]))
        yield cells


def _pipeline_failures(result: Results) -> str:
    """Return what a library cannot run, and why."""
    return "\n".join(
        f"- {result['titles'][name]}, {who}: {message}"
        for name, messages in result["failures"].items()
        for who, message in messages.items()
    )


def _arrays(result: Results) -> list[str]:
    """Return the cells of a program: five times, two ratios, the lines of all three."""
    ours, eager, jaxjs, tfjs = (result[name] for name in ("ours", "eager", "jaxjs", "tfjs"))
    cells = [result["title"], number(ours), number(eager)]
    cells += [number(result["webnn"]) if result["webnn"] else "–"]
    cells.append(f"{number(jaxjs)} ({result['jaxjs_device']})")
    cells.append(f"{number(tfjs)} ({result['tfjs_backend']})")
    ratios = (number(result["ratios"][name]) for name in ("jaxjs", "tfjs"))
    return [*cells, *ratios, *map(str, result["lines"].values())]


def _agreeing(models: Iterable[Results]) -> str:
    """Return a sentence on how far the others' results are from ours."""
    largest: dict[str, float] = {}
    for name, apart in ((name, a) for model in models for name, a in model["apart"].items()):
        largest[name] = max(apart, largest.get(name, 0))
    others = {"webnn": "WebNN", "wasm": "wasm", "webgpu": "WebGPU (in software)"}
    summary = ", ".join(
        f"{largest[name]:.1e} on {label}" for name, label in others.items() if name in largest
    )
    said = "Largest deviation of ONNX Runtime's results from ours, relative to the largest number"
    return f"{said}: {summary}."


ARRAYS_HEAD = (
    "ms",
    "webnnm",
    "without `jit`",
    "WebNN by hand",
    "jax-js (device)",
    "TensorFlow.js (backend)",
    "jax-js / webnnm",
    "TensorFlow.js / webnnm",
    "lines: webnnm",
    "jax-js",
    "TensorFlow.js",
)
LANGUAGE_HEAD = (
    "SmolLM2-135M, tokens per second",
    "webnnm",
    "llama.cpp (wasm, one thread)",
    "PyTorch (float32)",
    "webnnm / llama.cpp",
    "webnnm / PyTorch",
)
ONNX_HEAD = (
    "ms",
    "run: webnnm",
    "ONNX Runtime, WebNN",
    "ONNX Runtime, wasm",
    "webnnm / ONNX Runtime, WebNN",
    "first result: webnnm",
    "ONNX Runtime, WebNN",
    "ONNX Runtime, wasm",
    "webnnm / ONNX Runtime, WebNN",
)
FALLBACK_HEAD = (
    "ms",
    "webnnm on ONNX Runtime (wasm)",
    "webnnm on NumPy",
    "TensorFlow.js (backend)",
    "NumPy / ONNX Runtime",
    "TensorFlow.js / ONNX Runtime",
)
HEAD = (
    "ms",
    "webnnm",
    "WebNN by hand",
    "TensorFlow.js (backend)",
    "PyTorch (threads)",
    "webnnm / by hand",
    "TensorFlow.js / webnnm",
    "PyTorch / webnnm",
)


def sections(results: Results) -> Iterator[str]:
    """Yield the parts of the report for which there are results."""
    if steps := results.get("training"):
        yield "### Training, one step"
        rows = [_contestants(r, STEP_LIMITS.get(name, {})) for name, r in steps.items()]
        titles = [r["title"] for r in steps.values()]
        yield table([HEAD, *([title, *row] for title, row in zip(titles, rows, strict=True))])
        yield "More on webnnm: the whole of `train`, and building."
        yield table(
            [
                ("webnnm", "ms per step in steady state", "ms per step, all of `train`", "steps",
                 "build, s"),
                *(
                    (
                        r["title"],
                        number(r["ours"]),
                        number(r["ours_whole"]),
                        f"{r['steps'] * r['epochs']:,}",
                        number(r["phases"].get("build")),
                    )
                    for r in steps.values()
                ),
            ]
        )  # fmt: skip
        remarks = dict.fromkeys(remark for r in steps.values() for remark in r["remarks"])
        yield "\n".join(f"- {remark}" for remark in remarks)
    if without := results.get("fallback"):
        yield "### Training without WebNN, one step"
        yield table([FALLBACK_HEAD, *(_fallback(name, r) for name, r in without.items())])
    if programs := results.get("arrays"):
        yield "### Programs with arrays, one iteration"
        yield table([ARRAYS_HEAD, *map(_arrays, programs.values())])
    if inference := results.get("inference"):
        yield "### Inference: write, compute, read"
        yield table(
            [
                HEAD,
                *(
                    (_rows(r), *_contestants(r, {"webnn": ONE_ROW} if r["rows"] == 1 else {}))
                    for r in inference.values()
                ),
            ]
        )
        yield table(
            [
                (
                    "webnnm",
                    "context: `set_data`, `run`, `output`",
                    "`await model.predict(rows)`",
                    "`predict` / by hand",
                ),
                *(
                    (_rows(r), number(r["ours"]), number(r["predict"]), _prediction_ratio(r))
                    for r in inference.values()
                ),
            ]
        )
    if models := results.get("onnx"):
        yield "### ONNX models"
        yield table([ONNX_HEAD, *map(_onnx, models.values())])
        yield _agreeing(models.values())
    if language := results.get("language"):
        yield "### A language model"
        prompt = f"a prompt of {language['prompt_tokens']} tokens"
        rows = (("decode", "what follows"), ("prompt", prompt))
        yield table([LANGUAGE_HEAD, *(_language(language, *row) for row in rows)])
        yield (
            f"The same prompt in the same browser; in {language['equal']} of {results['rounds']} "
            "rounds webnnm and llama.cpp wrote the same text. PyTorch has random weights."
        )
    if start := results.get("start"):
        yield "### The first result after a navigation"
        head = ["the first …", "page of"]
        for version in start["medians"]:
            head += [f"Chromium {version.partition('.')[0]}, s", "webnnm / this"]
        yield table([head, *_start(start)])
        low, high = start["load"]
        count = len(next(iter(start["rounds"].values()))["step"]["webnnm"])
        yield f"Medians of {count} visits; the load average was {low:.1f} to {high:.1f}."
    if tasks := results.get("pipelines"):
        yield "### Tasks, beside transformers.js and LiteRT.js"
        for kind, head in (("call", "a call, ms"), ("first", "the first result, s")):
            columns = ((f"webnnm, {device}", f"theirs, {device}", "ratio") for device in PIPELINES)
            yield table([[head, *chain.from_iterable(columns)], *_pipelines(tasks, kind)])
        low, high = tasks["load"]
        rounds = max(map(len, next(iter(tasks["rounds"].values())).values()))
        yield (
            f"Medians of {rounds} rounds in Chromium {tasks['browser']}; the load average was "
            f"{low:.1f} to {high:.1f}."
        )
        yield _pipeline_failures(tasks)
    facts = [fact for fact in FACTS if fact.section in results]
    if facts:
        yield "### Start and Python"
        rows = []
        for fact in facts:
            value = fact.value(results[fact.section])
            verdict = fact.limit.describe(value) if fact.limit else ""
            rows.append((fact.label, f"{number(value)} {fact.unit}".strip(), verdict))
        yield table([("what", "measured", "must be"), *rows])
    if build := results.get("build"):
        yield "### Building a graph"
        yield table(
            [
                ("operators", "declared, ms", "rewritten, lowered, built, ms",
                 "of which the browser's own build, ms", "by hand, ms", "webnnm / by hand",
                 "differentiated, ms"),
                *map(_graph_cells, build),
            ]
        )  # fmt: skip
    if scale := results.get("scale"):
        yield "### Cost of scale"
        base = scale["base"]
        yield (
            f"One step of a network with {scale['features']} inputs, {base['depth']} hidden "
            f"layers of {base['width']} units and batches of {base['batch']}, one of the three "
            "changed. ![Milliseconds of a step by batch, width and depth](performance.svg)"
        )
        for kind, points in scale["kinds"].items():
            yield table(
                [
                    (kind, *(str(p["value"]) for p in points)),
                    ("webnnm, ms", *(number(p["ours"]) for p in points)),
                    ("by hand, ms", *(number(p["webnn"]) for p in points)),
                    ("ratio", *(_scaling_ratio(kind, p) for p in points)),
                ]
            )


def markdown(results: Results) -> str:
    """Return the report."""
    return "\n\n".join(part for part in sections(results) if part) + "\n"
