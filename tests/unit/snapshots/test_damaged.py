"""Files that are damaged or forged: named errors, little memory, and nothing changed (spec I)."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import struct
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import webnnm.model.nnmodel
from webnnm import DataError, Dataset, NNModel
from webnnm.backends.base import MemoryUsage
from webnnm.backends.reference import ReferenceBackend
from webnnm.snapshots.safetensors import SIZES, read
from webnnm.snapshots.snapshot import CHECKSUM, KEY, compute_checksum

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="minutes inside a page")

CODES = {f"NNM80{number}" for number in range(1, 9)}
SOURCE = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[{width}]), batchNorm(s, t), tanh(), dropout(0.1), matmul(w), add(b);
"""
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
HANGS = 300
"""Seconds after which a training is taken for one that never ends."""


def rows() -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(24, 3))
    return Dataset(x.tolist(), np.sin(x[:, :2]).tolist(), split=(16, 8, 0), standardize=True)


async def train_partly(width: int = 4, **settings: Any) -> NNModel:
    """Return a model that was stopped within its third epoch."""
    model = await NNModel.create(source=SOURCE.format(width=width), dataset=rows(), **QUIET)
    given = {"epochs": 4, "batch_size": 4, "seeds": 0, "optimizer": "adam", "progress": "off"}
    await model.train(
        {**given, **settings}, on_batch=lambda record: (record.epoch, record.batch) != (3, 2)
    )
    return model


@pytest.fixture(scope="module")
async def whole() -> bytes:
    """The file of such a model."""
    return await (await train_partly()).save()


def values(model: NNModel) -> dict[str, bytes]:
    return {p.name: p.value.tobytes() for p in model.params()}


def frame(header: Any, body: bytes, length: int | None = None) -> bytes:
    text = header
    if not isinstance(header, bytes):  # as the package writes it
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + body


# Damage: the checksum does not fit any more, or the file has no form.


def flip_bits(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def with_another_header(data: bytes, draw: random.Random) -> bytes:
    """Replace, insert or take out characters of the header, whose length fits again."""
    size = int.from_bytes(data[:8], "little")
    text = bytearray(data[8 : 8 + size].rstrip())
    blanks = size - len(text)  # they mean nothing
    place, count = draw.randrange(len(text)), draw.randint(1, 6)
    text[place : place + draw.choice((0, count))] = bytes(
        draw.choice(b'{}[]",:0123456789-.eE\\untrflasp/\xff')
        for _ in range(draw.choice((0, count)))
    )
    return frame(bytes(text) + b" " * blanks, data[8 + size :])


def with_another_length(data: bytes, draw: random.Random) -> bytes:
    size = draw.choice((draw.randrange(2**64), draw.randrange(2 * len(data)), 2**63, 10**8))
    return struct.pack("<Q", size) + data[8:]


def with_another_place(data: bytes, draw: random.Random) -> bytes:
    """Let a tensor lie elsewhere, over others or far outside, or have another shape."""
    file = read(data)
    header = json.loads(json.dumps(file.header))
    entry = header[draw.choice(list(file.tensors))]
    far = draw.choice((1, 4, 8, 2**31, 2**53, 2**62, 2**70))
    change = draw.randrange(5)
    if change == 0:
        entry["data_offsets"] = [offset + far for offset in entry["data_offsets"]]
    elif change == 1:
        entry["data_offsets"] = list(header[draw.choice(list(file.tensors))]["data_offsets"])
        entry["shape"] = [entry["data_offsets"][1] - entry["data_offsets"][0]]
        entry["dtype"] = "U8"
    elif change == 2:
        entry["data_offsets"][draw.randrange(2)] += draw.choice((-1, 1)) * far
    elif change == 3:
        entry["shape"] = [*entry["shape"], draw.choice((0, far, -far))]
    else:
        entry["dtype"] = draw.choice(sorted({*SIZES, "F128", ""} - {entry["dtype"]}))
    return frame(header, bytes(file.body))


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip_bits,
    with_another_header,
    with_another_length,
    with_another_place,
)


def iterate_damaged(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield the file cut off at every length, then so many others, none as it was."""
    for length in range(len(data)):
        yield data[:length]
    draw = random.Random(seed)
    number = 0
    while number < count:
        found = DAMAGES[number % len(DAMAGES)](data, draw)
        if found != data:
            number += 1
            yield found


@pytest.fixture
def opened_backends(monkeypatch: pytest.MonkeyPatch) -> list[ReferenceBackend]:
    """The backends that models open in the test."""
    found: list[ReferenceBackend] = []
    really = webnnm.model.nnmodel.open_backend

    async def open_backend(*given: Any, **settings: Any) -> Any:
        found.append(await really(*given, **settings))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(webnnm.model.nnmodel, "open_backend", open_backend)
    return found


async def refusal_code(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        await NNModel.load(data, **QUIET)
    return caught.value.code


@pytest.mark.parametrize("training", [False, True], ids=["parameters", "with its training"])
async def test_damaged_files_are_named_and_change_nothing(
    training: bool, opened_backends: list[ReferenceBackend]
) -> None:
    data = await (await train_partly()).save(optimizer=training)
    model = await NNModel.create(source=SOURCE.format(width=4), seed=9, **QUIET)
    before, held = values(model), model.memory()
    opened_backends.clear()
    codes: dict[str, int] = {}
    for number, each in enumerate(iterate_damaged(data, 5000, seed=training)):
        code = await refusal_code(each)
        codes[code] = codes.get(code, 0) + 1
        if number % 4 == 0:
            with pytest.raises(DataError) as caught:
                await model.load_params(each)
            assert caught.value.code in CODES
    print(f"{sum(codes.values())} files: {codes}")
    assert codes.keys() <= CODES and {"NNM801", "NNM802", "NNM803"} <= codes.keys()
    assert values(model) == before
    assert model.memory() == held
    assert not opened_backends, "all were refused before a model was begun"


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damaged_files_take_less_memory_than_twice_their_size(
    damage: Callable[[bytes, random.Random], bytes],
) -> None:
    data = await (await train_partly(width=20_000)).save()
    draw = random.Random(4)
    most = 0.0
    for _ in range(60):
        if (each := damage(data, draw)) == data:
            continue
        tracemalloc.start()
        try:
            await refusal_code(each)
            most = max(most, tracemalloc.get_traced_memory()[1] / len(each))
        finally:
            tracemalloc.stop()
    print(f"{damage.__name__}: {most:.3f} times the file of {len(data)} bytes")
    assert most < 1, "the bytes of the file itself come on top"


# Forgery: the checksum fits, the contents are others.


def forge(header: dict[str, Any], metadata: dict[str, str], body: bytes) -> bytes:
    given = {k: v for k, v in metadata.items() if k != CHECKSUM}
    content = {"__metadata__": given, **{k: v for k, v in header.items() if k != "__metadata__"}}
    checksum = compute_checksum([memoryview(body)], content)
    return frame({**content, "__metadata__": {**given, CHECKSUM: checksum}}, body)


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.5, 1e300, -1e300, 10**30, float("nan")),
    *(float("inf"), -float("inf"), "", "x", "adam", "1", "\0", "é" * 50, [], {}, [1], [[]]),
    *({"m": 1}, {"": None}, ["a", "b"], [0.1] * 3, 2**53, 2**31, -(2**63), "auto", "best/m"),
)


def somewhere(value: Any, draw: random.Random, odd: Any) -> Any:
    """Return JSON with one place in it replaced, taken out or doubled."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        change = draw.random()
        if change < 0.08:
            return {k: v for k, v in value.items() if k != key}
        if change < 0.12:
            return {**value, str(odd): value[key]}
        return {**value, key: somewhere(value[key], draw, odd)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        place = draw.randrange(len(value))
        return [*value[:place], somewhere(value[place], draw, odd), *value[place + 1 :]]
    return odd


def with_forged_metadata(data: bytes, draw: random.Random) -> bytes:
    file = read(data)
    metadata = dict(file.metadata)
    key = draw.choice([k for k in metadata if k not in (CHECKSUM, f"{KEY}model")])
    change = draw.random()
    if change < 0.05:
        del metadata[key]
    elif change < 0.1:
        metadata[key] = draw.choice(
            ("", "[", "{}", "null", "1e999", "[" * 9999, "NaN", '"\\ud83d"')
        )
    else:
        try:
            content = json.loads(metadata[key])
        except ValueError:
            content = metadata[key]
        metadata[key] = json.dumps(somewhere(content, draw, draw.choice(ODD)))
    return forge(dict(file.header), metadata, bytes(file.body))


def with_forged_tensors(data: bytes, draw: random.Random) -> bytes:
    """Give a tensor another name, shape, type or contents; take it out; add one."""
    file = read(data)
    names = list(file.tensors)
    parts = {n: [t.code, list(t.shape), bytes(t.data)] for n, t in file.tensors.items()}
    name, other = draw.choice(names), draw.choice(names)
    change = draw.randrange(8)
    if change == 0:
        parts.pop(name)
    elif change == 1:
        prefix, _, rest = name.rpartition("/")
        strange = (
            f"{prefix}/{rest}x",
            f"{prefix}/",
            rest,
            f"opt/{name}",
            f"best/{name}",
            "opt/",
            "//",
        )
        parts[draw.choice((*strange, f"task/s/{rest}", "task/s", f"opt/z/{rest}"))] = parts.pop(
            name
        )
    elif change == 2:
        parts[name], parts[other] = parts[other], parts[name]
    elif change == 3:
        parts[name][1] = draw.choice(([1], [], [0], [*parts[name][1], 1], parts[name][1][::-1]))
        parts[name][2] = (parts[name][2] * 4)[: 4 * int(np.prod(parts[name][1]))]
    elif change == 4:
        parts[name][0] = draw.choice(("I32", "U32", "F32"))
    elif change == 5:
        parts[name] = ["F16", parts[name][1], parts[name][2][::2][: len(parts[name][2]) // 2]]
    elif change == 6:
        number = draw.choice((float("nan"), float("inf"), -1.0, 1e38, 0.0, 1e-45))
        parts[name][2] = struct.pack("<f", number) * (len(parts[name][2]) // 4)
    else:
        parts[draw.choice(("extra", "opt/v/extra", "best/param/extra", "norm/far/mean"))] = parts[
            name
        ]
    header: dict[str, Any] = {}
    start = 0
    for each, (code, shape, content) in parts.items():
        end = start + len(content)
        header[each] = {"dtype": code, "shape": shape, "data_offsets": [start, end]}
        start = end
    body = b"".join(content for _, _, content in parts.values())
    return forge(header, dict(file.metadata), body)


def with_forged_model(data: bytes, draw: random.Random) -> bytes:
    file = read(data)
    text = file.metadata[f"{KEY}model"]
    place, count = draw.randrange(len(text)), draw.randint(0, 3)
    put = draw.choice(("", "9", "99999999999", "(", "]", ";", "m", "w, ", "=", "\n", "tanh(), "))
    metadata = {**file.metadata, f"{KEY}model": text[:place] + put + text[place + count :]}
    return forge(dict(file.header), metadata, bytes(file.body))


FORGERIES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    with_forged_metadata,
    with_forged_tensors,
    with_forged_model,
)
SETTINGS: dict[str, dict[str, Any]] = {
    "adam": {},
    "scaled": {"gradient_scaling": "on", "gradient_clipping": "global"},
    "accumulated": {"accumulate": 3, "optimizer": "lion", "shuffle": False},
}


@pytest.mark.filterwarnings("ignore:.*standardise:UserWarning")  # as the forged means are
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
async def test_forged_files_are_refused_or_work(
    settings: dict[str, Any], opened_backends: list[ReferenceBackend]
) -> None:
    data = await (await train_partly(**settings)).save()
    file = read(data)
    again = await NNModel.load(
        forge(dict(file.header), dict(file.metadata), bytes(file.body)), **QUIET
    )
    assert again.state.checkpoint is not None, "forging itself is right"
    draw = random.Random(str(settings))
    told: dict[str, int] = {}

    def count(what: str) -> None:
        told[what] = told.get(what, 0) + 1

    for number in range(240):
        each = FORGERIES[number % 3](data, draw)
        opened_backends.clear()
        try:
            model = await NNModel.load(each, dataset=None, **QUIET)
        except DataError as error:
            assert error.code in CODES, error
            count(error.code)
            assert all(one.memory() == MemoryUsage(0, 0, 0) for one in opened_backends)
            continue
        if any(tuple(v.features[0].sizes()) != (3,) for v in model.state.network.inputs):
            count("a model of other data")
            continue
        await model.predict([[0.1, 0.2, 0.3]])
        model.set_dataset(rows())
        try:
            await asyncio.wait_for(model.train(resume=True, epochs=4)._task, HANGS)
            count("resumed")
        except DataError as error:
            # NNM708: it goes on from numbers that are none.
            assert error.code in {*CODES, "NNM708"}, error
            count(f"loaded, then {error.code}")
        model.close()
    print(told)
    assert told["resumed"] > 20


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize("key", ["cursor", "schedule", "best", "loss", "hyperparameters"])
async def test_numbers_in_a_header_are_finite(whole: bytes, key: str, number: str) -> None:
    """Also those that nothing is computed with before the training goes on."""
    file = read(whole)
    text = file.metadata[f"{KEY}{key}"]
    digits = re.search(r"\d+(\.\d+)?([eE]-?\d+)?", text)
    if digits is None:  # as the losses of a model whose loss has no numbers
        text, digits = '{"m": 1}', re.search(r"\d", '{"m": 1}')
        assert digits is not None
    changed = text[: digits.start()] + number + text[digits.end() :]
    metadata = {**file.metadata, f"{KEY}{key}": changed}
    assert await refusal_code(forge(dict(file.header), metadata, bytes(file.body))) == "NNM802"


async def test_sums_that_are_not_finite_are_kept() -> None:
    """An epoch may overflow before anybody looks; its snapshot can be loaded all the same."""
    model = await train_partly()
    assert model.state.checkpoint is not None
    totals = {**model.state.checkpoint.totals, "loss/m": float("inf")}
    model.state.keep(replace(model.state.checkpoint, totals=totals))
    again = await NNModel.load(await model.save(), **QUIET)
    assert again.state.checkpoint is not None
    assert math.isnan(again.state.checkpoint.totals["loss/m"])


# Each of these, if it were believed, would let a resumed training fail, or be another one.
WRONG: list[tuple[str, str, Any]] = [
    *(("schedule", "T", value) for value in (0, 1, 3, 17, 32, -16, 16.5, True, None, "16", 10**30)),
    *(("schedule", "W", value) for value in (0, 3, 17, -4, 4.5, None, "4")),
    *(("schedule", "kind", value) for value in ("linear", "", None, 1, ["cosine"])),
    *(("schedule", "lr", value) for value in (0, -0.01, 0.02, 1e300, None, "0.01", [])),
    *(("schedule", "t", value) for value in (0, 9, 11, -1, 10.5, None, 2**53)),
    *(("schedule", "numbers", value) for value in (None, [], {"param/w1": 1}, {"param/x": 1})),
    *(("schedule", "numbers", value) for value in ({"opt/v/b1": 1}, {"sum/x": 1}, {"x": "1"})),
    *(("cursor", "epoch", value) for value in (0, 1, 3, -1, 2.5, None, "2", 10**30)),
    *(("cursor", "batch", value) for value in (0, 1, 4, 5, -2, 2.5, None, "2", True)),
    *(("cursor", "seed", value) for value in (7, None, "1")),
    *(("cursor", "totals", value) for value in (None, [], {"rows/m": None}, {"rows/m": -1})),
    *(("cursor", "totals", value) for value in ({"overflows": None}, {"norm": "1"}, {"norm": []})),
    *(("best", "epoch", value) for value in (0, 3, -1, 1.5, None, "2")),
    *(("best", "value", value) for value in (None, "1", [], True)),
    *(("best", "restored", value) for value in (None, "x", 2, [])),
    ("best", "patience", 3),
    *(("rng", "dropout", value) for value in (0, 11, None)),
    *(("rng", "shuffling", value) for value in (0, 3, None)),
    *(("hyperparameters", "given", value) for value in (None, [], {"x": 1}, {"epochs": 0})),
    *(("loss", "m", value) for value in (None, [], {}, "MSE")),
]
FORGED_SETTINGS: list[tuple[str, Any]] = [
    *(("epochs", value) for value in (0, 3, 5, -4, 4.5, None, True, "4")),
    *(("batch_size", value) for value in (0, None, 4.5, "4")),
    *(("optimizer", value) for value in ("", "x", None, 1, [])),
    *(("lr", value) for value in (0, 0.02, None, -1, "0.01")),
    *(("beta1", value) for value in (1, None, -1, "x")),
    *(("epsilon", value) for value in (0, None, -1)),
    *(("schedule", value) for value in ("linear", "x", None)),
    *(("schedule_epochs", value) for value in (3, 0, 8, "4")),
    *(("warmup_epochs", value) for value in (2, 9, -1, None)),
    *(("seed", value) for value in (None, 9, "1", 0.5)),
    *(("loss_weights", value) for value in ("auto", {"x": 1}, {"m": 0}, {"m": None}, 3)),
    *(("gradient_scaling", "auto"), ("gradient_clipping", "auto"), ("regularization", "auto")),
    *(("compute_type", "auto"), ("accumulate", 0), ("patience", 0), ("patience", 499)),
    *(("micro_steps", value) for value in (0, 1.5, None, "x")),
    *((name, 10**400) for name in ("accumulate", "patience", "seeds", "seed", "validate_every")),
    *((name, 10**400) for name in ("growth_interval", "step_epochs", "batch_size", "micro_steps")),
    *(("loss_weights", {"m": 10**400}), ("lr", 10**400), ("lambda1", 10**400)),
    *(("freeze", 2), ("restore_best", 1), ("clip_alpha", 1), ("scale", 0), ("nothing", 1)),
]
FORGED_LOSS: list[tuple[str, Any]] = [
    *(("loss", value) for value in ("", "XYZ", None, 1)),
    *(("reason", value) for value in (None, 1, [])),
    *((name, value) for name in ("delta", "gamma", "alpha") for value in (-1, 0.5, "1", [1])),
    *(("smoothing", value) for value in (-0.1, 1, 2, None, "0", True)),
    *(("s", value) for value in (None, "1", 1e300)),
]


def describe(value: Any) -> str:
    return json.dumps(value)[:40]


async def expect_refused(whole: bytes, key: str, change: Callable[[dict[str, Any]], None]) -> None:
    file = read(whole)
    content = json.loads(file.metadata[KEY + key])
    change(content)
    metadata = {**file.metadata, KEY + key: json.dumps(content)}
    assert metadata[KEY + key] != file.metadata[KEY + key], "it is another file"
    assert await refusal_code(forge(dict(file.header), metadata, bytes(file.body))) == "NNM802"


@pytest.mark.parametrize(("key", "name", "value"), WRONG, ids=describe)
async def test_a_standing_that_no_training_has_is_refused(
    whole: bytes, key: str, name: str, value: Any
) -> None:
    await expect_refused(whole, key, lambda content: content.update({name: value}))


@pytest.mark.parametrize(("name", "value"), FORGED_SETTINGS, ids=describe)
async def test_hyperparameters_that_no_training_had_are_refused(
    whole: bytes, name: str, value: Any
) -> None:
    await expect_refused(
        whole, "hyperparameters", lambda content: content["resolved"].update({name: value})
    )


@pytest.mark.parametrize(("name", "value"), FORGED_LOSS, ids=describe)
async def test_losses_that_no_training_had_are_refused(whole: bytes, name: str, value: Any) -> None:
    await expect_refused(whole, "loss", lambda content: content["m"].update({name: value}))


@pytest.mark.parametrize("name", ["norm", "loss/m", "rows/m"])
async def test_an_epoch_without_its_sums_is_not_resumed(name: str) -> None:
    model = await train_partly()
    assert model.state.checkpoint is not None
    totals = {n: value for n, value in model.state.checkpoint.totals.items() if n != name}
    model.state.keep(replace(model.state.checkpoint, totals=totals))
    again = await NNModel.load(await model.save(), dataset=rows(), **QUIET)
    before = values(again)
    with pytest.raises(DataError, match=name) as caught:
        await again.train(resume=True)
    assert caught.value.code == "NNM808" and values(again) == before


async def test_the_best_parameters_are_all_there() -> None:
    model = await train_partly()
    assert model.state.checkpoint is not None
    best = {n: array for n, array in model.state.checkpoint.best.items() if n != "w2"}
    model.state.keep(replace(model.state.checkpoint, best=best))
    again = await NNModel.load(await model.save(), dataset=rows(), **QUIET)
    with pytest.raises(DataError, match="w2") as caught:
        await again.train(resume=True)
    assert caught.value.code == "NNM808"


async def test_another_number_of_batches_is_another_training() -> None:
    """Also before the first epoch has ended, and where its schedule would have no epoch."""
    model = await NNModel.create(source=SOURCE.format(width=4), dataset=rows(), **QUIET)
    settings = {"epochs": 1, "batch_size": 4, "seeds": 0, "progress": "off"}
    await model.train(settings, on_batch=lambda record: record.batch < 2)
    x = [[0.1 * k, 0.2, 0.3] for k in range(64)]
    other = Dataset(x, [row[:2] for row in x], split=(64, 0, 0))
    again = await NNModel.load(await model.save(), dataset=other, **QUIET)
    with pytest.raises(DataError, match="an epoch has 16 batches") as caught:
        await again.train(resume=True)
    assert caught.value.code == "NNM808"


async def test_weights_of_outputs_keep_their_outputs() -> None:
    """They lie in a file by the order of the outputs, not by that of their names."""
    model = await NNModel.create(
        source="""x:input shape=[3]; z:output shape=[1]; z:loss MSE; a:output shape=[1]; a:loss MSE;
        z:layers matmul(w, shape=[4], node=x), tanh(name=both), matmul(w), add(b);
        a:layers matmul(w, node=both), add(b);""",
        dataset=Dataset(
            [[0.1 * k, 0.5, 1.0] for k in range(16)],
            {"z": [[0.1 * k] for k in range(16)], "a": [[9.0 - k] for k in range(16)]},
            split=(16, 0, 0),
        ),
        **QUIET,
    )
    given: dict[str, Any] = {"epochs": 3, "batch_size": 4, "seeds": 0, "progress": "off"}
    await model.train(given, loss_weights="auto", on_epoch=lambda record: record.epoch < 2)
    again = await NNModel.load(await model.save(), **QUIET)
    found: list[dict[str, list[Any]]] = []
    for one in (model, again):
        assert one.state.checkpoint is not None
        state = one.state.checkpoint.state
        found.append({n: list(state[n].values()) for n in state if n.startswith("task/s/")})
    assert found[0] == found[1] and found[0]["task/s/z"] != found[0]["task/s/a"]


@pytest.mark.parametrize("block", ["inputs", "targets"])
@pytest.mark.parametrize("repeat", [0, -1, 1.5, True, None, "1"])
async def test_scales_are_of_whole_elements(block: str, repeat: Any) -> None:
    x = [[0.1 * k, 0.2, 0.3 * k] for k in range(24)]
    dataset = Dataset(
        x, [r[:2] for r in x], split=(24, 0, 0), standardize=True, standardize_targets=True
    )
    model = await NNModel.create(source=SOURCE.format(width=4), dataset=dataset, **QUIET)
    file = read(await model.save())
    content = json.loads(file.metadata[f"{KEY}normalisation"])
    if block == "inputs":
        content["inputs"]["m"]["repeat"] = repeat
    else:
        content["targets"]["m"][2] = repeat
    metadata = {**file.metadata, f"{KEY}normalisation": json.dumps(content)}
    assert await refusal_code(forge(dict(file.header), metadata, bytes(file.body))) == "NNM802"
