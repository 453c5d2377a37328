"""Damaged files of every format: refused by name, or usable; what was there before is unchanged."""

from __future__ import annotations

import asyncio
import json
import math
import struct
from array import array
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.frame import Target
from webnnm import Dataset, NNModel, TableDataset, WebNNMError
from webnnm.core.arrays import HostArray
from webnnm.formats.stablehlo.check import check_stablehlo
from webnnm.model.texts import check
from webnnm.snapshots.name_map import read_name_map
from webnnm.snapshots.safetensors import SIZES, chunks, read
from webnnm.snapshots.snapshot import CHECKSUM, compute_checksum

Case = dict[str, Any]
"""`base`, the file that is damaged, `edits` in order, and whether the checksum is made to `fit`."""

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
NUMBERS = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[4]), batchNorm(s, t), tanh(), dropout(0.1), matmul(w), add(b);
"""
TABLE = """
t:input shape=[5]; t:output shape=[3];
t:layers matmul(w, shape=[4]), relu(), matmul(w), add(b), softmax();
"""
TRAININGS: Mapping[str, dict[str, Any]] = {
    "adam": {"optimizer": "adam"},
    "scaled": {"gradient_scaling": "on", "gradient_clipping": "global"},
    "accumulated": {"accumulate": 3, "optimizer": "lion", "shuffle": False},
    "table": {"optimizer": "adam"},
}
LONGEST = 2600
"""Letters of a message at most, however long the names in a file are."""


def rows() -> Dataset:
    """Return numbers that the models of `NUMBERS` learn."""
    x = [[math.sin(3 * row + k) for k in range(3)] for row in range(24)]
    y = [[math.cos(row), math.sin(row)] for row in range(24)]
    return Dataset(x, y, split=(16, 8, 0), standardize=True, standardize_targets=True)


def table() -> TableDataset:
    """Return a table that the models of `TABLE` learn."""
    words = ("red", "blue", "green")
    columns = {
        "width": [math.sin(k) if k % 7 else None for k in range(30)],
        "colour": [words[k % 3] for k in range(30)],
        "height": [float(k) for k in range(30)],
        "kind": [("a", "b", "c")[k * k % 3 + (k % 5 == 0)] for k in range(30)],
    }
    return TableDataset(columns, split=(20, 5, 5), missing="mean", standardize=True)


def data_of(base: str) -> Dataset:
    """Return what the model of a file learns."""
    return table() if base == "table" else rows()


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all checks."""
    return asyncio.new_event_loop()


async def train(base: str) -> NNModel:
    """Return a model that was stopped within its third epoch."""
    source, dataset = TABLE if base == "table" else NUMBERS, data_of(base)
    model = await NNModel.create(source=source, dataset=dataset, seed=1, **QUIET)
    given = {"epochs": 4, "batch_size": 4, "seeds": 0, "progress": "off", **TRAININGS[base]}
    await model.train(given, on_batch=lambda record: (record.epoch, record.batch) != (3, 2))
    return model


def foreign() -> bytes:
    """Return weights as another program writes them: other names, other types."""
    shapes = {"w1": (3, 4), "s": (4,), "t": (4,), "w2": (4, 2), "b": (2,)}
    floats = {name: [0.25 * k for k in range(math.prod(shape))] for name, shape in shapes.items()}
    made = {
        "fc.1.weight": HostArray.of(floats["w1"], "float16", shape=(4, 3)),
        "fc.2.weight": HostArray.of(floats["w2"], shape=(2, 4)),
        "norm": HostArray.of(floats["s"] + floats["t"], shape=(8,)),
        "bias": HostArray.of(floats["b"]),
        "numbers": HostArray.of([1, 2, 3], "int64"),
    }
    return b"".join(chunks(made, {"format": "pt"}))


NAMES = """{
  "w{n}": {"transposed": "fc.{n}.weight"},
  "scale1": {"part": "norm", "index": 0, "of": 2},
  "bias1": {"part": "norm", "index": 1, "of": [4, 4]},
  "b1": {"reshaped": "bias", "sizes": [2]},
  "mean*": null
}"""


@cache
def original(base: str) -> bytes:
    """Return a file as it should be."""
    if base in TRAININGS:
        return loop().run_until_complete(_save(base))
    if base == "parameters":
        return loop().run_until_complete(_save("adam", optimizer=False))
    if base == "half":
        return loop().run_until_complete(_save("table", dtype="float16"))
    if base == "foreign":
        return foreign()
    if base == "names":
        return NAMES.encode()
    if base == "text":
        return (NUMBERS + TABLE).encode()
    return loop().run_until_complete(_stablehlo()).encode()


async def _save(base: str, **options: Any) -> bytes:
    return await (await train(base)).save(**options)


async def _stablehlo() -> str:
    model = await NNModel.create(source=TABLE, **QUIET)
    return await model.export(None, "loss", 2, format="stablehlo")


SNAPSHOTS = (*TRAININGS, "parameters", "half")
BASES = (*SNAPSHOTS, "foreign", "names", "text", "stablehlo")

# Damage. Places are numbers, taken modulo what is there, so that any of them means something.


def take(items: Any, place: int) -> Any:
    """Return one of several things."""
    known = list(items)
    return known[place % len(known)]


def replace_item(tree: Any, path: list[int], how: str, value: Any) -> Any:
    """Return JSON with one place in it replaced, taken out, doubled, or put elsewhere."""
    if isinstance(tree, dict) and tree and path:
        key = take(tree, path[0])
        if len(path) == 1 and how == "drop":
            return {k: v for k, v in tree.items() if k != key}
        if len(path) == 1 and how == "rename":
            return {(str(value) if k == key else k): v for k, v in tree.items()}
        return {**tree, key: replace_item(tree[key], path[1:], how, value)}
    if isinstance(tree, list) and tree and path:
        place = path[0] % len(tree)
        if len(path) == 1 and how == "drop":
            return [*tree[:place], *tree[place + 1 :]]
        if len(path) == 1 and how == "rename":
            return [*tree[:place], tree[place], *tree[place:]]
        return [*tree[:place], replace_item(tree[place], path[1:], how, value), *tree[place + 1 :]]
    return value


def with_metadata(data: bytes, edit: list[Any]) -> bytes:
    """Change what the metadata say: a text, or a place in the JSON that it holds."""
    _, number, path, how, value = edit
    file = read(data)
    known = [key for key in file.metadata if key != CHECKSUM]
    if not known:
        return data
    key = take(known, number)
    metadata = dict(file.metadata)
    try:
        tree = json.loads(metadata[key])
    except ValueError:
        tree = metadata[key]
    metadata[key] = json.dumps(replace_item(tree, path, how, value))
    if how == "text":
        metadata[key] = str(value)
    elif how == "drop" and not path:
        del metadata[key]
    return frame({**file.header, "__metadata__": metadata}, bytes(file.body))


def with_header(data: bytes, edit: list[Any]) -> bytes:
    """Change the header itself."""
    _, path, how, value = edit
    file = read(data)
    return frame(replace_item(dict(file.header), path, how, value), bytes(file.body))


def with_tensor(data: bytes, edit: list[Any]) -> bytes:
    """Give a tensor another name, shape, type or contents; take it out, or add one."""
    _, number, how, value = edit
    file = read(data)
    parts = {n: [t.code, list(t.shape), bytes(t.data)] for n, t in file.tensors.items()}
    if not parts:
        return data
    name = take(parts, number)
    code, shape, content = parts[name]
    if how == "drop":
        parts.pop(name)
    elif how == "rename":
        parts[value] = parts.pop(name)
    elif how == "copy":
        parts[value] = parts[name]
    elif how == "swap":
        other = take(parts, value)
        parts[name], parts[other] = parts[other], parts[name]
    elif how == "fill":
        whole = struct.pack("<d", value) if code == "F64" else array("f", [value]).tobytes()
        parts[name][2] = (whole * (len(content) // len(whole) + 1))[: len(content)]
    elif how == "shape":
        size = math.prod(value) * SIZES[code]
        parts[name] = [code, value, (content * (size // max(1, len(content)) + 1))[:size]]
        parts[name][2] = parts[name][2].ljust(size, b"\0")
    elif how == "dtype":
        size = math.prod(shape) * SIZES[value]
        parts[name] = [value, shape, content[:size].ljust(size, b"\0")]
    header: dict[str, Any] = {"__metadata__": dict(file.metadata)} if file.metadata else {}
    start = 0
    for each, (word, sizes, held) in parts.items():
        end = start + len(held)
        header[each] = {"dtype": word, "shape": sizes, "data_offsets": [start, end]}
        start = end
    return frame(header, b"".join(held for _, _, held in parts.values()))


def with_bytes(data: bytes, edit: list[Any]) -> bytes:
    """Cut off, flip, insert, take out, double or move bytes."""
    how, place, count, text = edit
    place %= len(data) + 1
    count %= 64
    if how == "cut":
        return data[:place]
    if how == "flip":
        changed = bytearray(data)
        changed[place % max(1, len(data)) : place % max(1, len(data)) + 1] = bytes(
            [changed[place % len(data)] ^ (1 << count % 8)] if data else []
        )
        return bytes(changed)
    if how == "insert":
        return data[:place] + text.encode("utf-8", "surrogatepass") + data[place:]
    if how == "take":
        return data[:place] + data[place + count :]
    if how == "double":
        return data[:place] + data[max(0, place - count) :]
    if how == "many":
        return data[:place] + text.encode("utf-8", "surrogatepass") * (count * 50) + data[place:]
    if how == "refit":  # the length of the header is what it was made to be
        return max(0, len(data) - 8 - place).to_bytes(8, "little") + data[8:]
    return struct.pack("<Q", place) + data[8:]


DAMAGES: Mapping[str, Callable[[bytes, list[Any]], bytes]] = {
    "metadata": with_metadata,
    "header": with_header,
    "tensor": with_tensor,
}


def frame(header: Any, body: bytes) -> bytes:
    """Return a file of a header and what follows it."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    found = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(found)) + found + body


def fitting(data: bytes) -> bytes:
    """Return a file with the checksum that fits what it holds, so that all of it is read."""
    try:
        file = read(data)
        metadata = {k: v for k, v in file.metadata.items() if k != CHECKSUM}
        signed = {**file.header, "__metadata__": metadata}
        metadata[CHECKSUM] = compute_checksum([file.body], signed)
    except WebNNMError:
        return data
    return frame({**signed, "__metadata__": metadata}, bytes(file.body))


def damage(case: Case) -> bytes:
    """Return the file of a case."""
    data = original(case["base"])
    for edit in case["edits"]:
        if edit[0] not in DAMAGES:
            data = with_bytes(data, edit)
        elif case["base"] in (*SNAPSHOTS, "foreign"):
            try:
                data = DAMAGES[edit[0]](data, edit)
            except WebNNMError:  # an earlier edit left no file to change
                continue
        elif edit[0] == "header" and case["base"] == "names":
            try:
                data = json.dumps(replace_item(json.loads(data), *edit[1:])).encode()
            except ValueError:
                continue
    return fitting(data) if case["fit"] else data


# Checks.


def state(model: NNModel) -> tuple[Any, ...]:
    """Return all that a failed loading must leave as it was."""
    values = {p.name: bytes(model.state.parameters.value(p.name).data) for p in model.params()}
    checkpoint = model.state.checkpoint
    held = None if checkpoint is None else {n: bytes(a.data) for n, a in checkpoint.state.items()}
    step = None if checkpoint is None else (checkpoint.epoch, checkpoint.batch, checkpoint.step)
    return (
        values,
        held,
        step,
        model.step,
        model.state.trained,
        model.state.has_dataset,
        model.memory(),
    )


_victims: dict[str, NNModel] = {}


async def victim(base: str) -> NNModel:
    """Return a model with a dataset and a training, which files are loaded into."""
    if base not in _victims:
        _victims[base] = await NNModel.load(original(base), dataset=data_of(base), **QUIET)
    return _victims[base]


def told(error: WebNNMError) -> str:
    """Return the word for an error, whose text shall fit a screen."""
    if len(str(error)) > LONGEST:
        raise AssertionError(f"a message of {len(str(error))} letters: {str(error)[:200]}")
    return error.code


def not_finite(data: bytes) -> str:
    """Return which metadata hold a number that is none, "" where all are numbers."""
    for key, text in read(data).metadata.items():
        found: list[str] = []
        try:
            json.loads(text, parse_constant=found.append)
        except ValueError:
            continue
        if found and text not in ("NaN", "Infinity", "-Infinity"):
            return f"{key}: {text}"
    return ""


async def load(base: str, data: bytes) -> str:
    """Load a file as a model, and go on with its training."""
    try:
        model = await NNModel.load(data, **QUIET)
    except WebNNMError as error:
        return f"load {told(error)}"
    if wrong := not_finite(data):
        raise AssertionError(f"loaded with {wrong[:300]}")
    word = "loaded"
    try:
        if model.state.checkpoint is not None:
            word = "loaded, resumed"
            model.set_dataset(data_of(base))
            await asyncio.wait_for(model.train(resume=True, epochs=4, progress="off")._task, 60)
        again = await NNModel.load(await model.save(), **QUIET)
        again.close()
    except WebNNMError as error:
        word = f"loaded, then {told(error)}"
    finally:
        model.close()
    return word


async def taken(base: str, data: bytes, names: Any = None) -> str:
    """Load parameters into a model that has others."""
    model = await victim(base)
    before = state(model)
    for strict in (True, False):
        try:
            await model.load_params(data, mapping=names, strict=strict)
        except WebNNMError as error:
            word = f"params {told(error)}"
            if state(model) != before:
                raise AssertionError("the model is another one after a failed loading") from error
        else:
            _victims.pop(base).close()
            return "params taken"
    return word


def check_file(case: Case) -> str:
    """Read a damaged file in every way in which it may be read."""
    base, data = case["base"], damage(case)
    home = {"parameters": "adam", "half": "table"}.get(base, base)
    original(home if home in SNAPSHOTS else "adam")  # made before anything else runs
    if base in SNAPSHOTS:
        run = loop().run_until_complete
        first = run(taken(home, data))
        return f"{run(load(home, data))}; {first}"
    if base == "foreign":
        return loop().run_until_complete(taken("adam", data, read_name_map(NAMES)))
    text = data.decode("utf-8", "replace")
    try:
        if base == "names":
            return loop().run_until_complete(taken("adam", foreign(), read_name_map(text)))
        if base == "stablehlo":
            check_stablehlo(text)
            return "stablehlo passed"
        return f"text with {len(check(text))} problems"
    except WebNNMError as error:
        return f"{base} {told(error)}"


def end() -> None:
    """Free what checks have opened."""
    while _victims:
        _victims.popitem()[1].close()
    if loop.cache_info().currsize:
        loop().close()
        loop.cache_clear()


# Cases.

ODD = st.one_of(
    st.sampled_from(
        [
            *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.5, 1e300, -1e300, 10**30, 2**31, 2**53),
            *(-(2**63), math.nan, math.inf, -math.inf, 1e39, 1e-46, "", "x", "adam", "1", "\0"),
            *("\ud800", "é" * 50, "n" * 5000, "auto", "best/m", [], {}, [1], [[]], {"m": 1}),
            *({"": None}, ["a", "b"], [0.1] * 3, [math.nan], [None] * 3, {"a": {"b": [{}]}}),
            *("NaN", "-1", "1e999", 10**400, [0] * 2000, ["red", "red"], ["red", 1], "classes"),
        ]
    ),
    st.integers(-5, 2**66),
    st.floats(),
    st.text(max_size=5),
)
TEXTS = st.sampled_from(
    [
        *('"', "\\", "{", "[", "]", "}", ",", ":", "NaN", "1e999", "\\ud800", "\\u0000", "null"),
        *("-", "9" * 30, '{"a":', "[[", '"a":1,', "\0", "\ufeff", "\ud800", " ", "\n", "é"),
        *("tensor<", "?x", "%0", "#", " = ", "({", "})", "stablehlo.", "x", "(", ")", "*", "{n}"),
        *("{0n}", "{n+1}", "9" * 5000, "->", "dense<", "i64", ";", "/*", "'", "1."),
    ]
)
PLACES = st.integers(0, 2**20)
PATHS = st.lists(st.integers(0, 40), max_size=4)
HOW = st.sampled_from(["set", "set", "set", "drop", "rename", "text"])
TENSOR_NAMES = st.sampled_from(
    [
        *("", "/", "//", "param/", "param/w1", "state/w1", "state/mean1", "opt/v/w1", "opt/z/w1"),
        *("opt/", "opt/m/nothing", "best/param/w1", "best/w1", "best/", "task/s", "task/s/m"),
        *("norm/m/mean", "norm/m/std", "norm/x/mean", "opt/sum/w1", "opt/sum/", "n" * 3000),
        *("__metadata__x", "\ud800", "a\0b", "opt/v/task/s/m", "fc.3.weight", "best/param/x"),
    ]
)
TENSORS = st.one_of(
    st.tuples(st.just("drop"), st.none()),
    st.tuples(st.sampled_from(["rename", "copy"]), TENSOR_NAMES),
    st.tuples(st.just("swap"), PLACES),
    st.tuples(
        st.just("fill"), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -1.0, 1e38, 1e-45])
    ),
    st.tuples(st.just("shape"), st.lists(st.integers(0, 5), max_size=5)),
    st.tuples(st.just("dtype"), st.sampled_from(sorted(SIZES))),
)
EDITS = st.one_of(
    st.tuples(st.just("metadata"), PLACES, PATHS, HOW, ODD).map(list),
    st.tuples(st.just("metadata"), PLACES, PATHS, HOW, ODD).map(list),
    st.tuples(st.just("header"), PATHS, HOW, ODD).map(list),
    st.tuples(st.just("tensor"), PLACES, TENSORS).map(lambda t: [t[0], t[1], *t[2]]),
    st.tuples(
        st.sampled_from(["cut", "flip", "insert", "take", "double", "many", "refit", "length"]),
        PLACES,
        PLACES,
        TEXTS,
    ).map(list),
)
CASES = st.fixed_dictionaries(
    {
        "base": st.sampled_from(BASES),
        "edits": st.lists(EDITS, min_size=1, max_size=3),
        "fit": st.sampled_from([True, True, True, False]),
    }
)

TARGET = Target(
    name="files",
    cases=CASES,
    check=check_file,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=60,
    close=end,
)
