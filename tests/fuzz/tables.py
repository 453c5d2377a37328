"""Tables of any kind: refused by name, or a dataset whose model can be saved and loaded."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.frame import Target
from webnnm import CSVDataset, NNModel, TableDataset, WebNNMError
from webnnm.data.field import SUBSETS

Case = dict[str, Any]
"""A `text`, or the `columns` of a table, and the `options` that it is read with."""

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
LONGEST = 2600
"""Letters of a message at most, whatever stands in the cells."""


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all checks."""
    return asyncio.new_event_loop()


def source_of(dataset: TableDataset) -> str:
    """Return a model that has the shapes of a dataset."""
    (given,), (wanted,) = dataset.inputs.values(), dataset.outputs.values()
    width, out = given.shape[-1], wanted.classes if wanted.kind == "classes" else wanted.shape
    shape = [out] if isinstance(out, int) else list(out)
    head = ", softmax()" if wanted.kind != "continuous" else ""
    if wanted.kind == "continuous" and not shape:
        return f"t:input shape=[{width}]; t:output shape=[]; t:layers mul(w, shape=[]), " + (
            "reduceSum(axes=[-1]);"
        )
    output = f"{'int32 ' if wanted.kind == 'classes' else ''}shape={shape}"
    if wanted.kind == "classes":
        output = f"shape=[{wanted.classes}]"
    return f"t:input shape=[{width}]; t:output {output}; t:layers matmul(w), add(b){head};"


async def save_and_load(dataset: TableDataset) -> str:
    """Save and load a model of the dataset."""
    model = await NNModel.create(source=source_of(dataset), **QUIET)
    try:
        model.set_dataset(dataset)
        again = await NNModel.load(await model.save(), **QUIET)
    finally:
        model.close()
    again.close()
    kept = again.state.restored
    assert kept is not None
    names = dataset.labels()
    for answers in kept.answers.values():
        assert answers.names == (None if names is None else tuple(names))
    for encoders in kept.columns.values():
        assert [e.name for e in encoders] == [e.name for e in dataset.encoders]
    return "kept"


async def make(case: Case) -> TableDataset:
    """Return the dataset of a case."""
    options: dict[str, Any] = case["options"]
    if "text" in case:
        return await CSVDataset.create(text=case["text"], **options)
    return TableDataset(case["columns"], **options)


def check(case: Case) -> str:
    """Read a table, use all of it, and keep what a model must know of it."""
    run = loop().run_until_complete
    try:
        dataset = run(make(case))
    except WebNNMError as error:
        if len(str(error)) > LONGEST:
            raise AssertionError(f"a message of {len(str(error))} letters") from error
        return f"refused {error.code}"
    sizes = [dataset.size(subset) for subset in SUBSETS]
    assert sum(sizes[:3]) <= sizes[3]
    for subset in SUBSETS:
        if not dataset.size(subset):
            continue
        inputs, outputs = dataset.arrays(subset)
        assert all(len(values) == dataset.size(subset) for values in (*inputs.values(),))
        for values in (*inputs.values(), *outputs.values()):
            assert all(math.isfinite(value) for value in values.values())
        dataset.decode(None, outputs["model"])
        dataset.statistics(subset)
        assert sum(batch.valid_count for batch in dataset.batches(subset)) == dataset.size(subset)
    str(dataset.report)
    repr(dataset)
    try:
        return run(save_and_load(dataset))
    except WebNNMError as error:
        return f"bound, then {error.code}"


def end() -> None:
    """Close the loop of the checks."""
    if loop.cache_info().currsize:
        loop().close()
        loop.cache_clear()


# Cases.

WORDS = st.sampled_from(
    [
        *("", " ", "red", "blue", "é", "ñ", "日本", "\U0001f600", "\ud800", "NA", "nan", "?", "-"),
        *("None", "true", '"', '""', "'", "a,b", "a;b", "#", "# x", "1e999", "-inf", "Infinity"),
        *("1_000", "1,5", "0x10", "1e5", "-0", "+3", "1.", ".5", "1e-320", "9" * 400, "٣", "\0"),
        *("\ufeff", "\r", "\n", "\t", "x" * 3000, "__proto__", "\u2028", "\x1a", "=1+1", "1/2"),
    ]
)
CELLS = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers(-5, 5).map(str),
    st.floats(allow_nan=True, width=32).map(repr),
    st.sampled_from(["a", "b", "c"]),
    WORDS,
    st.text(max_size=4),
)


@st.composite
def columns(draw: st.DrawFn) -> list[list[str]]:
    """Draw cells column by column, so that most of a column is alike."""
    rows = draw(st.sampled_from([0, 1, 2, 5, 8, 8, 12, 16]))
    found: list[list[str]] = []
    for _ in range(draw(st.sampled_from([1, 2, 2, 3, 3, 4, 5]))):
        kind = draw(
            st.sampled_from(
                [
                    st.integers(-3, 3).map(str),
                    st.floats(-9, 9, width=32).map(repr),
                    st.sampled_from(["a", "b", "c"]),
                    st.sampled_from(["a", "b"]),
                    st.integers(0, 2).map(str),
                    CELLS,
                ]
            )
        )
        cells = [draw(kind) for _ in range(rows)]
        for _ in range(draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1]))):
            if cells:
                cells[draw(st.integers(0, rows - 1))] = draw(CELLS)
        found.append(cells)
    return found


NAMES = st.one_of(st.sampled_from(["a", "b", "label", "x", "a", "", "1", "0"]), WORDS, CELLS)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw the text of a table, quoted or not, with a header or not, ragged at times."""
    cells = draw(columns())
    mark = draw(st.sampled_from([",", ",", ",", ",", ",", ",", ";", "\t", "|", " "]))
    ending = draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
    quoting = draw(st.sampled_from(["never", "needed", "needed", "needed", "needed", "always"]))
    lines = [list(row) for row in zip(*cells, strict=True)]
    if draw(st.booleans()):
        lines.insert(0, [draw(NAMES) for _ in cells])
    if lines and draw(st.sampled_from([False] * 9 + [True])):
        line = draw(st.sampled_from(lines))
        line[:] = line[:-1] if draw(st.booleans()) else [*line, "1"]

    def write(cell: str) -> str:
        needed = any(letter in cell for letter in (mark, '"', "\n", "\r"))
        if quoting == "always" or (quoting == "needed" and needed):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    text = ending.join(mark.join(map(write, line)) for line in lines)
    return (
        draw(st.sampled_from(["", "", "\ufeff", "# a comment\n"]))
        + text
        + draw(st.sampled_from(["", "", "", ending, ending, ending, ending, '"', '\n"', ","]))
    )


ODD = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 3, 0.5, 2.5, math.nan, math.inf, -math.inf, 10**30, ""),
        *("abc", "a", [], [0], ["a"], [None], [[]], {}, {"model": "a"}, {"a": 1}, [0.5, 0.5]),
        *([1, 1, 1], [[0], [1], [2]], [[0], [0], [1]], [["a"], [], []], [[99], [], []], "\ud800"),
        *([math.nan, 0, 1], [True, 0, 0], [[1.5], [], []], ["a", "a"], ["model"], {"model": ["x"]}),
        *([[None], [], []], [0.7, 0, 0.3], [1, 0, 0], [-1, 1, 1], "0.7,0,0.3", [1e400, 0, 0]),
    ]
)
OPTIONS: Mapping[str, st.SearchStrategy[Any]] = {
    "features": st.one_of(ODD, st.lists(st.integers(-6, 6), max_size=3)),
    "label": st.one_of(ODD, st.integers(-6, 6)),
    "split": st.one_of(ODD, st.lists(st.one_of(st.integers(0, 5), st.floats(0, 1)), max_size=4)),
    "standardize": ODD,
    "standardize_targets": ODD,
    "scale": st.one_of(ODD, st.sampled_from(["minmax", "standard"])),
    "task": st.one_of(ODD, st.sampled_from(["auto", "classification", "regression"])),
    "missing": st.one_of(ODD, st.sampled_from(["error", "drop", "mean"])),
    "unknown": st.one_of(ODD, st.sampled_from(["error", "zeros"])),
    "categorical": st.one_of(ODD, st.lists(st.integers(-4, 4), max_size=2)),
    "sparse": ODD,
    "seed": ODD,
    "method": st.one_of(ODD, st.sampled_from(["stratified", "random", "sequential"])),
    "batch_size": ODD,
    "name": ODD,
    "kinds": ODD,
    "names": ODD,
    "length": ODD,
}
OF_TEXTS: Mapping[str, st.SearchStrategy[Any]] = {
    "delimiter": st.one_of(ODD, st.sampled_from([",", ";", "\t", "|", " "])),
    "header": st.one_of(ODD, st.sampled_from([True, False, "auto"])),
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a table with some options, most of which are left as they are."""
    of_text = draw(st.sampled_from([True, True, False]))
    known = {**OPTIONS, **(OF_TEXTS if of_text else {})}
    usual: dict[str, Any] = {"split": [1, 0, 0], "missing": "mean"}
    chosen = draw(st.lists(st.sampled_from(sorted(known)), max_size=2, unique=True))
    options = {**(usual if draw(st.booleans()) else {}), **{n: draw(known[n]) for n in chosen}}
    if of_text:
        return {"text": draw(texts()), "options": options}
    cells = draw(columns())
    plain = draw(st.booleans())

    def value(cell: str) -> Any:
        try:
            return float(cell)
        except ValueError:
            return draw(st.sampled_from([cell, cell, None, True, [1], 10**400, {"a": 1}]))

    names = [draw(NAMES) for _ in cells]
    rows = [cells if plain else [value(cell) for cell in cells] for cells in cells]
    return {"columns": dict(zip(names, rows, strict=True)), "options": options}


TARGET = Target(
    name="tables",
    cases=cases(),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=100,
    close=end,
)
