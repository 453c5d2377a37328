"""Weights of other programs compute here what they compute there."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError, NNModel
from webnnm.core.arrays import HostArray
from webnnm.ops.declare.tensors import TensorType
from webnnm.snapshots.foreign import Part, Permuted, Transposed
from webnnm.snapshots.name_map import assign_tensors, read_name_map
from webnnm.snapshots.safetensors import chunks

np = pytest.importorskip("numpy")

LAYERS = 3
TRANSFORMER = f"""
gpt:input shape=[8] sequence=true;
gpt:output shape=[8];
gpt:layers block(repeat={LAYERS});
block:layers attend(wq, wk, wv, wo, heads=2, bias=true, causal=true, name=mixed),
  matmul(up, shape=[32]), add(lift), gelu(), matmul(down, shape=[8]), add(drop);
"""
NAMES = {
    "wq{n}": Transposed(Part("h.{n-1}.qkv.weight", 0, 3)),
    "wk{n}": Transposed(Part("h.{n-1}.qkv.weight", 1, 3)),
    "wv{n}": Transposed(Part("h.{n-1}.qkv.weight", 2, 3)),
    "wq_b{n}": Part("h.{n-1}.qkv.bias", 0, 3),
    "wk_b{n}": Part("h.{n-1}.qkv.bias", 1, 3),
    "wv_b{n}": Part("h.{n-1}.qkv.bias", 2, 3),
    "wo{n}": Transposed("h.{n-1}.out.weight"),
    "wo_b{n}": "h.{n-1}.out.bias",
    "up{n}": Transposed("h.{n-1}.fc1.weight"),
    "lift{n}": "h.{n-1}.fc1.bias",
    "down{n}": Transposed("h.{n-1}.fc2.weight"),
    "drop{n}": "h.{n-1}.fc2.bias",
    "h.*.mask": None,
}


def linear(x: Any, weights: dict[str, Any], name: str) -> Any:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def draw() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    sizes = {"qkv": (24, 8), "out": (8, 8), "fc1": (32, 8), "fc2": (8, 32)}
    weights: dict[str, Any] = {}
    for layer in range(LAYERS):
        for name, shape in sizes.items():
            place = f"h.{layer}.{name}"
            weights[f"{place}.weight"] = draw.normal(size=shape, scale=0.3).astype("float32")
            weights[f"{place}.bias"] = draw.normal(size=shape[:1], scale=0.3).astype("float32")
        weights[f"h.{layer}.mask"] = np.ones((5, 5), "uint8")
    return weights


def compute(x: Any, weights: dict[str, Any]) -> Any:
    """Compute the network as its own program does: linear layers y = x·Wᵀ + b, fused q, k, v."""
    from math import erf

    for layer in range(LAYERS):
        place = f"h.{layer}"
        q, k, v = np.split(linear(x, weights, f"{place}.qkv"), 3, axis=-1)
        heads = []
        for part in (slice(0, 4), slice(4, 8)):
            scores = q[:, part] @ k[:, part].T / 2
            scores[np.triu_indices(len(x), 1)] = -np.inf
            weight = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(weight / weight.sum(-1, keepdims=True) @ v[:, part])
        x = linear(np.concatenate(heads, -1), weights, f"{place}.out")
        x = linear(x, weights, f"{place}.fc1")
        x = x * (1 + np.vectorize(erf)(x / 2**0.5)) / 2
        x = linear(x, weights, f"{place}.fc2")
    return x


def store(weights: dict[str, Any]) -> bytes:
    return b"".join(chunks({name: HostArray.of(value) for name, value in weights.items()}, {}))


def encode(weight: Any, kind: str) -> HostArray:
    if kind == "bfloat16":  # the upper half of float32, under the name of another type of two bytes
        return HostArray.of((weight.view("uint32") >> 16).astype("uint16"), "float16")
    return HostArray.of(weight, "float16" if kind == "float16" else "float32")


def rename(data: bytes) -> bytes:
    """Return a file whose float16 are called bfloat16."""
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].replace(b'"F16"', b'"BF16"')
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


async def create(source: str) -> NNModel:
    return await NNModel.create(source=source, backend="numpy", log=lambda _: None)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


async def test_a_transformer_computes_what_it_did() -> None:
    model, weights = await create(TRANSFORMER), draw()
    assert len(await model.load_params(store(weights), mapping=NAMES)) == 12 * LAYERS
    x = np.random.default_rng(5).normal(size=(4, 8)).astype("float32")
    np.testing.assert_allclose((await model.predict([x]))[0], compute(x, weights), atol=1e-5)


def test_heads_need_not_divide_the_bytes_of_a_number() -> None:
    stored = np.arange(18, dtype=np.float32)
    for index in range(3):
        part = Part("qkv.bias", index, 3, heads=3)
        data = part.data((18,), memoryview(stored).cast("B"), 4)
        expected = stored.reshape(3, 3, 2)[:, index].ravel()
        np.testing.assert_array_equal(np.frombuffer(data, np.float32), expected)


async def test_interleaved_heads_are_taken_apart() -> None:
    """Rows as GPT-NeoX and BLOOM have them: q, k, v of the first head, then those of the next."""
    model, weights = await create(TRANSFORMER), draw()
    other = dict(weights)
    for name, value in weights.items():
        if "qkv" in name:
            heads = value.reshape(3, 2, 4, *value.shape[1:])
            other[name] = heads.swapaxes(0, 1).reshape(value.shape)

    def by_head(form: Any) -> Any:
        if isinstance(form, Transposed):
            return Transposed(by_head(form.source))
        return Part(form.source, form.index, 3, heads=2) if isinstance(form, Part) else form

    names = {name: by_head(form) for name, form in NAMES.items()}
    await model.load_params(store(other), mapping=names)
    taken = values(model)
    await model.load_params(store(weights), mapping=NAMES)
    assert values(model) == taken


async def test_filters_in_another_layout() -> None:
    source = """m:input shape=[2, 5, 5]; m:output shape=[3, 3, 3];
        m:layers conv2d(f, filters=3, kernel=[3, 3]);"""
    model = await create(source)
    ours = np.random.default_rng(0).random((3, 2, 3, 3), "float32")
    data = store({"conv/kernel": np.ascontiguousarray(ours.transpose(2, 3, 1, 0))})
    await model.load_params(data, mapping={"f1": Permuted("conv/kernel", "hwio -> oihw")})
    np.testing.assert_array_equal(model.params()[0].value, ours)


@pytest.mark.parametrize("name", ["h.1.fc1.weight", "h.2.qkv.bias"])
@pytest.mark.parametrize("change", ["gone", "larger", "other type"])
async def test_what_does_not_fit_changes_nothing(name: str, change: str) -> None:
    model, weights = await create(TRANSFORMER), draw()
    before = values(model)
    if change == "gone":
        del weights[name]
    elif change == "larger":
        weights[name] = np.concatenate([weights[name], weights[name][:1]])
    else:
        weights[name] = weights[name].astype("int32")
    with pytest.raises(DataError) as caught:
        await model.load_params(store(weights), mapping=NAMES)
    assert caught.value.code == ("NNM805" if change == "gone" else "NNM806")
    assert name in caught.value.message
    assert values(model) == before and not model.state.trained


async def test_without_strict_something_has_to_fit() -> None:
    model = await create(TRANSFORMER)
    some = {name: value for name, value in draw().items() if name.startswith("h.1.fc")}
    taken = await model.load_params(store(some), mapping=NAMES, strict=False)
    assert taken == ["up2", "lift2", "down2", "drop2"]
    with pytest.raises(DataError) as caught:
        await model.load_params(store(some), strict=False)
    assert caught.value.code == "NNM710"


@pytest.mark.skipif(sys.platform == "emscripten", reason="measured on the desktop")
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
async def test_loading_takes_little_more_memory_than_the_file(kind: str, tmp_path: Path) -> None:
    layers, width = 40, 128
    source = f"""m:input shape=[{width}]; m:output shape=[{width}];
        m:layers matmul(w, shape=[{width}], repeat={layers});"""
    model = await create(source)
    draw = np.random.default_rng(0)
    weights = {f"l.{k}.weight": draw.random((width, width), "float32") for k in range(layers)}
    arrays = {n: encode(weight, kind) for n, weight in weights.items()}
    data = b"".join(chunks(arrays, {}))
    if kind == "bfloat16":
        data = rename(data)
    path = tmp_path / "weights.safetensors"
    path.write_bytes(data)
    size = path.stat().st_size
    del data, arrays
    tracemalloc.start()
    try:
        # The values that the model has now are counted too: they make room for the new ones.
        for parameter in model.params():
            model.state.parameters.set(parameter.name, bytes(4 * width * width))
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await model.load_params(path, mapping={"w{n}": Transposed("l.{n-1}.weight")})
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"{kind}: peak {(peak - before) / size:.3f} of the file")
    assert peak - before <= 1.2 * size
    assert after - before < 0.1 * size, "the file itself is given up"
    expected = weights["l.7.weight"].T
    tolerance = {"float32": 0, "float16": 1e-3, "bfloat16": 1e-2}[kind]
    np.testing.assert_allclose(model.params()[7].value, expected, rtol=tolerance)


def taken(names: Any, tensors: list[str], parameters: list[str]) -> dict[str, str]:
    """Return by parameter the tensor that it takes, of tensors with a number each."""
    types = {name: TensorType("float32", ()) for name in parameters}
    arrays = {name: HostArray.of(float(k)) for k, name in enumerate(tensors)}
    found = assign_tensors(arrays, types, names)
    return {name: tensors[int(one.array().values()[0])] for name, one in found.items()}


@pytest.mark.parametrize(
    ("key", "value", "parameter", "tensor"),
    [
        ("*", "m.*", "w1", "m.w1"),
        ("*.*", "*/*", "a.b.c", "a/b.c"),
        ("*.b.*.c", "*-*", "a.b.b.c.c", "a-b.c"),
        ("a*a", "*", "aba", "b"),
        ("*{n}", "*.{n-1}", "w12", "w.11"),
        ("h{n}.*{m}", "{m}.*.{2n+1}", "h3.w10", "10.w.7"),
        ("{2n}w{n}", "{n}", "8w4", "4"),
    ],
)
def test_stars_take_the_shortest_text_and_numbers_all_digits(
    key: str, value: str, parameter: str, tensor: str
) -> None:
    assert taken({key: value}, [tensor], [parameter]) == {parameter: tensor}


@pytest.mark.parametrize(
    "name", ["fc.x.weight", "fc.1.weightx", "xfc.1.weight", "fc." + "9" * 5000 + ".weight"]
)
def test_names_without_the_number_of_a_pattern_are_others(name: str) -> None:
    with pytest.raises(DataError) as caught:
        taken({"fc.{n}.weight": None}, ["w1", name], ["w1"])
    assert caught.value.code == "NNM805"


def test_many_stars_are_matched_without_going_back() -> None:
    """With going back this would take longer than anybody waits."""
    name = "ab" * 20_000
    with pytest.raises(DataError) as caught:
        taken({"*a*b" * 30 + "c": None}, ["w1", name], ["w1"])
    assert caught.value.code == "NNM805"
    assert taken({"*a*b" * 30: None}, ["w1", name], ["w1"]) == {"w1": "w1"}


WRONG: list[Any] = [
    *({"w{0n}": "fc.{n}"}, {"w{n}": "fc.{0n}"}, {"w{00n}": "fc.{n}"}),
    *({"w{n+" + "9" * 5000 + "}": "fc.{n}"}, {"w{" + "9" * 5000 + "n}": "fc.{n}"}),
    *({"w1": {"permuted": "a", "axes": axes}} for axes in (5, None, [], True)),
    *({"w1": {"part": "a", "index": 0, "of": of}} for of in (0.5, [], [1.5])),
    *({"w1": {"part": "a", "index": index, "of": 2}} for index in ("0", 0.5, True, -1)),
    *(
        {"w1": {"part": "a", "index": 0, "of": 2, **more}}
        for more in ({"axis": "x"}, {"heads": 1.5})
    ),
    *({"w1": {"reshaped": "a", "sizes": sizes}} for sizes in (["1"], [-1], [1.0])),
    *({"w1": {"transposed": None}}, {"w1": {"transposed": 1}}, {"w1": 7}, ["w1"]),
]


@pytest.mark.parametrize("names", WRONG, ids=lambda names: json.dumps(names)[:60])
def test_name_maps_that_make_no_sense_are_refused(names: Any) -> None:
    with pytest.raises(DataError) as caught:
        taken(read_name_map(json.dumps(names)), ["a"], ["w1"])
    assert caught.value.code == "NNM704"


def test_a_part_of_very_many_is_refused_without_counting_them() -> None:
    array = HostArray.of([], shape=(0, 4))
    types = {"w1": TensorType("float32", (3,))}
    with pytest.raises(DataError) as caught:
        assign_tensors({"a": array, "b": array}, types, {"w1": Part("a", 0, 10**12)})
    assert caught.value.code == "NNM805"
    assert Part("a", 10**11, 10**12).shape((0, 4)) == (0, 4)
