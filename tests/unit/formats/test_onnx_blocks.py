"""Graphs in ONNX files as blocks of model texts: imported, trained in part, saved, exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.onnx_models import STRING, constant, graph, info, model, node
from webnnm import Dataset, NNModel, check, format_model, join_models, parse, split_model
from webnnm.core.errors import DataError, ModelError
from webnnm.formats.onnx.messages import ModelProto, TensorProto
from webnnm.formats.onnx.writer import serialize

np = pytest.importorskip("numpy")

TEXT = """
digits:input shape={channels:1, height:8, width:8};
digits:output shape=[3];
digits:layers backbone(), matmul(w), add(b), softmax();
backbone:source "net.onnx" at="pooled";
"""
PICTURE, SOURCE = "shape={channels:1, height:8, width:8}", "backbone:source"
WEIGHTS = ("conv.weight", "conv.bias", "norm.scale", "norm.bias", "norm.mean", "norm.variance")


def random(*shape: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype("float32")


def network(batch: int | str | None = 1) -> ModelProto:
    """Return convolution, batch normalisation, relu, pooling, and a head that nobody needs."""
    values = {
        "conv.weight": random(40, 1, 5, 5, seed=1),
        "conv.bias": random(40, seed=2),
        "norm.scale": 1 + random(40, seed=3),
        "norm.bias": random(40, seed=4),
        "norm.mean": random(40, seed=5),
        "norm.variance": 1 + random(40, seed=6) ** 2,
        "head.weight": random(40, 5, seed=7),
    }
    tensors = [constant(name, value.tolist(), "float32") for name, value in values.items()]
    nodes = [
        node("convolved = Conv(x, conv.weight, conv.bias)", pads=[2, 2, 2, 2]),
        node(
            "normal, m, v = BatchNormalization(convolved, norm.scale, norm.bias, norm.mean, "
            "norm.variance)",
            training_mode=1,
        ),
        node("active = Relu(normal)"),
        node("mean = GlobalAveragePool(active)"),
        node("pooled = Flatten(mean)"),
        node("scores = MatMul(pooled, head.weight)"),
    ]
    inputs = [info("x", batch, 1, None, None)]
    return model(graph(nodes, inputs, ["scores"], *tensors))


FILE = serialize(network())


def rows(count: int = 48) -> tuple[Any, Any]:
    """Return pictures of three classes: light above, light below, light everywhere."""
    labels = np.arange(count) % 3
    data = np.random.default_rng(0).normal(0, 0.1, (count, 1, 8, 8)).astype("float32")
    data[labels != 1, :, :4] += 1
    data[labels != 0, :, 4:] += 1
    return data, labels.astype("int32")


async def create_model(text: str = TEXT, **settings: Any) -> NNModel:
    settings = {"files": {"net.onnx": FILE}, "backend": "numpy", **settings}
    return await NNModel.create(source=text, log=lambda line: None, **settings)


def features(data: Any) -> Any:
    """Return what the graph computes of pictures up to the pooling, with its own statistics."""
    values = {
        tensor.name: np.frombuffer(tensor.raw_data, "float32").reshape(tensor.dims)
        for tensor in network().graph.initializer
    }
    padded = np.pad(data[:, 0], [(0, 0), (2, 2), (2, 2)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2))
    found = np.einsum("nhwij,oij->nohw", windows, values["conv.weight"][:, 0])
    planes = {name: value.reshape(-1, 1, 1) for name, value in values.items() if value.ndim == 1}
    found = (found + planes["conv.bias"] - planes["norm.mean"]) / np.sqrt(
        planes["norm.variance"] + 1e-5
    )
    found = found * planes["norm.scale"] + planes["norm.bias"]
    return np.maximum(found, 0).mean((2, 3))


async def test_a_graph_is_a_block_and_its_weights_are_parameters() -> None:
    data, _ = rows(5)
    text = "m:input shape={channels:1, height:8, width:8}; m:output shape=[40]; m:layers net();"
    async with await create_model(text + 'net:source "net.onnx" at=pooled;') as found:
        assert [p.name for p in found.params()] == [f"net.{name}" for name in WEIGHTS]
        assert not any(p.trainable for p in found.params())
        assert {p.init for p in found.params()} == {"file"}
        for some in (data, data[:1]):
            outputs = np.asarray(await found.predict(some))
            assert np.allclose(outputs, features(some), atol=1e-5)


async def test_layers_take_a_graph_whose_rank_is_another() -> None:
    text = """
        m:input shape={channels:1, height:8, width:8};
        m:output shape=[4];
        m:layers net(), reduceMean(axes=[1]), matmul(w);
        net:source "net.onnx";
    """
    nodes = [node("y = Reshape(x, s)")]
    shape = constant("s", [-1, 8, 8], "int64")
    of = graph(nodes, [info("x", 1, 1, 8, 8)], ["y"], shape)
    async with await create_model(text, files={"net.onnx": serialize(model(of))}) as found:
        data, _ = rows(3)
        (weights,) = (np.asarray(p.value) for p in found.params())
        wanted = data[:, 0].mean(2) @ weights
        np.testing.assert_allclose(np.asarray(await found.predict(data)), wanted, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 7, "batch", None])
async def test_the_first_dimension_of_the_file_is_the_batch(batch: Any) -> None:
    async with await create_model(files={"net.onnx": serialize(network(batch))}) as found:
        assert np.asarray(await found.predict(rows(6)[0])).shape == (6, 3)


@pytest.mark.parametrize(
    ("call", "learning"),
    [
        ("backbone()", ()),
        ("backbone(trainable=false)", ()),
        ("backbone(lrm=0)", ()),
        ("backbone(trainable=true)", WEIGHTS[:4]),
        ("backbone(lrm=0.1)", WEIGHTS[:4]),
        ('backbone(trainable=["conv.*"], lrm=0.5)', WEIGHTS[:2]),
        ('backbone(trainable="norm.bias")', ("norm.bias",)),
        ("trunk(lrm=0.5)", WEIGHTS[:4]),
    ],
)
async def test_weights_are_trained_where_the_call_says_so(call: str, learning: Any) -> None:
    text = TEXT.replace("backbone()", call) + "trunk:layers backbone();" * call.startswith("trunk")
    data, labels = rows()
    async with await create_model(text, dataset=Dataset(data, labels, split=(1, 0, 0))) as found:
        before = {p.name: p.value.copy() for p in found.params()}
        history = await found.train(epochs=8, seeds=2)
        changed = [p.name for p in found.params() if (p.value != before[p.name]).any()]
        own = [name.removeprefix("backbone.") for name in changed if name.startswith("backbone.")]
        assert own == list(learning)
        assert min(e.loss for e in history.epochs) < history.epochs[0].loss


async def test_calls_share_parameters_and_take_different_values() -> None:
    text = """
        m:input shape={channels:1, height:8, width:8};
        m:output shape=[80];
        m:layers net(name=low), net(node=m:input, at=pooled, name=high),
            concat([low, high], axis=0);
        net:source "net.onnx" at=pooled;
    """
    async with await create_model(text) as found:
        outputs = np.asarray(await found.predict(rows(4)[0]))
        assert len(found.params()) == len(WEIGHTS)
        assert np.array_equal(outputs[:, :40], outputs[:, 40:])
    with pytest.raises(ModelError, match="share their parameters"):
        await create_model(text.replace("at=pooled, name=high", "lrm=0.5, name=high"))


async def test_named_dimensions_go_through() -> None:
    text = TEXT.replace("backbone()", "backbone(at=active), globalAveragePool()")
    async with await create_model(text) as found:
        (layer, *_) = found.state.network.layers
        assert layer.features[0].names == ("channels", "height", "width")
        assert layer.features[0].sizes() == (40, 8, 8)


async def test_a_review_gives_no_false_advice() -> None:
    data, labels = rows(240)
    async with await create_model(dataset=Dataset(data, labels)) as found:
        wrong = [f for f in found.review(epochs=20) if f.severity != "info"]
        assert [f.id for f in wrong if f.id not in ("E701",)] == []


@pytest.mark.parametrize("dtype", [None, "float16"])
async def test_a_snapshot_holds_the_graph(dtype: Any) -> None:
    data, labels = rows()
    text = TEXT.replace("backbone()", "backbone(trainable=true)")
    async with await create_model(text, dataset=Dataset(data, labels)) as found:
        await found.train(epochs=2)
        expected = np.asarray(await found.predict(data))
        saved = await found.save(dtype=dtype)
        values = {p.name: p.value for p in found.params()}
    async with await NNModel.load(saved, backend="numpy", log=lambda line: None) as again:
        near = 1e-6 if dtype is None else 1e-2
        assert np.allclose(np.asarray(await again.predict(data)), expected, atol=near)
        if dtype is None:
            assert all(np.array_equal(p.value, values[p.name]) for p in again.params())
            again.set_dataset(Dataset(data, labels))
            await again.train(epochs=3, resume=True)
        twice = await again.save(dtype=dtype, optimizer=False)
    async with await NNModel.load(twice, backend="numpy", log=lambda line: None) as last:
        assert [p.name for p in last.params()] == list(values)


async def test_large_weights_lie_in_a_snapshot_once() -> None:
    wide = constant("conv.weight", random(256, 1, 5, 5, seed=1).tolist(), "float32")
    net = graph([node("y = Conv(x, conv.weight)")], [info("x", 1, 1, 8, 8)], ["y"], wide)
    text = """m:input shape={channels:1, height:8, width:8}; m:output shape=[256, 4, 4];
        m:layers net(); net:source "net.onnx";"""
    async with await create_model(text, files={"net.onnx": serialize(model(net))}) as found:
        saved = await found.save()
        assert len(saved) < 256 * 25 * 4 + 3000
        async with await NNModel.load(saved, backend="numpy", log=lambda line: None) as again:
            data = rows(2)[0]
            first, second = await found.predict(data), await again.predict(data)
            assert np.array_equal(np.asarray(first), np.asarray(second))


async def test_damaged_files_in_snapshots_are_refused() -> None:
    from webnnm.snapshots.safetensors import read
    from webnnm.snapshots.snapshot import text_and_files

    async with await create_model() as found:
        saved = bytes(await found.save())
    file = read(saved)
    place = saved.index(bytes(file.tensors["file/net.onnx"].data))
    for position in range(place, len(saved), 97):
        damaged = saved[:position] + bytes([saved[position] ^ 255]) + saved[position + 1 :]
        with pytest.raises(DataError, match="NNM803"):
            await NNModel.load(damaged, backend="numpy", log=lambda line: None)
        # The checksum is not a defence against those who write one.
        try:
            text, files = text_and_files(read(damaged))
            check(text, files)
        except DataError as error:
            assert error.code.startswith("NNM8")


async def test_parts_and_exports(tmp_path: Path) -> None:
    data, _ = rows(6)
    async with await create_model() as found:
        expected = np.asarray(await found.predict(data))
        trunk, head = await split_model(found, "matmul")
        assert 'source "net.onnx"' in trunk.serialize()
        assert "source" not in head.serialize()
        values = await trunk.predict(data)
        assert np.array_equal(np.asarray(await head.predict(values)), expected)
        whole = await join_models(trunk, head, freeze=True)
        assert np.array_equal(np.asarray(await whole.predict(data)), expected)
        for kind in ("inference", "loss", "train"):
            assert "backbone.conv.weight" in await found.export(None, kind, format="stablehlo")
            await found.export(tmp_path / f"{kind}.onnx", kind)
        for each in (trunk, head, whole):
            each.close()
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(tmp_path / "inference.onnx"))
    given = {"digits": data} | {f"param/{p.name}": p.value for p in found.params()}
    names = [each.name for each in session.get_inputs()]
    (outputs,) = session.run(None, {name: given[name] for name in names})
    assert np.allclose(outputs, expected, atol=1e-5)


def place_of(text: str, word: str) -> tuple[int, int]:
    before = text[: text.index(word)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize(
    ("change", "code", "place", "words"),
    [
        (('"net.onnx"', '"nett.onnx"'), "NNM715", '"nett.onnx"', "cannot be read"),
        (('"pooled"', '"poled"'), "NNM205", '"poled"', 'no value "poled"'),
        (("backbone()", "backbone(at=poled)"), "NNM205", "at=poled", 'no value "poled"'),
        (("channels:1", "channels:3"), "NNM404", "backbone()", "not [3, 8, 8]"),
        (('at="pooled"', "trainable=true"), "NNM301", "trainable", "no option"),
        (('at="pooled"', "at=[1]"), "NNM303", "[1]", "name of a value"),
        (("backbone()", "backbone(lrm=-1)"), "NNM303", "lrm=-1", "a number from 0"),
        (("backbone()", 'backbone(trainable="cone.*")'), "NNM205", "trainable", "no weight"),
        (("backbone()", "backbone(trainable=7%)"), "NNM303", "trainable=7%", "names of weights"),
        (
            ("shape={channels:1, height:8, width:8}", "shape=[8] sequence=true"),
            "NNM411",
            "backbone()",
            "sequence",
        ),
        (
            ("backbone:source", "backbone:input shape=[4]; backbone:source"),
            "NNM214",
            "input shape=[4]",
            "graph in a file",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(
    change: tuple[str, str], code: str, place: str, words: str
) -> None:
    text = TEXT.replace(*change)
    files = {"net.onnx": FILE} if "nett" not in text else None
    (error,) = (found for found in check(text, files) if isinstance(found, ModelError))
    assert (error.code, error.line, error.column) == (code, *place_of(text, place))
    assert words in str(error)


def test_wrong_files_are_told_with_their_place() -> None:
    two = graph([node("y = Add(a, b)")], [info("a", 1, 4), info("b", 1, 4)], ["y"])
    odd = graph([node("y = StringNormalizer(a)")], [info("a", 1, 1, 8, 8)], ["y"])
    many = graph([node("y = Relu(a)"), node("z = Neg(a)")], [info("a", 1, 1, 8, 8)], ["y", "z"])
    flat = graph([node("y = Reshape(a, s)")], [info("a", 1, 1, 8, 8)], ["y"], constant("s", [-1]))
    strings = graph([node("y = Relu(a)")], [info("a", 1, 1, 8, 8, code=STRING)], ["y"])
    text = TEXT.replace(' at="pooled"', "")
    cases = [
        (b"nonsense", "NNM811"),
        (FILE[:100], "NNM801"),
        (serialize(model(two)), "NNM302"),
        (serialize(model(odd)), "NNM812"),
        (serialize(model(many)), "NNM304"),
        (serialize(model(flat)), "NNM404"),
        (serialize(model(strings)), "NNM814"),
    ]
    for file, code in cases:
        (error,) = check(text, {"net.onnx": file})
        assert error.code == code, error
        assert error.line > 1
    with pytest.raises(DataError, match="NNM710"):
        check(text, {"net.onnx": FILE, "other.onnx": FILE})


def test_weights_may_be_nodes_and_lie_beside(tmp_path: Path) -> None:
    net = network()
    assert net.graph is not None
    first = net.graph.initializer.pop(0)
    net.graph.node.insert(0, node("conv.weight = Constant()", value=first))
    (tmp_path / "net.onnx").write_bytes(serialize(net))
    assert check(TEXT, {"net.onnx": tmp_path / "net.onnx"}) == []
    apart: TensorProto = net.graph.initializer[0]
    (tmp_path / "weights.bin").write_bytes(bytes(apart.raw_data or b""))
    from webnnm.formats.onnx.exporting.file import set_external_data

    set_external_data(apart, "weights.bin")
    (tmp_path / "net.onnx").write_bytes(serialize(net))
    assert check(TEXT, {"net.onnx": tmp_path / "net.onnx"}) == []


async def test_files_lie_beside_the_text(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(FILE)
    (tmp_path / "digits.nnm").write_text(TEXT)
    async with await NNModel.create(
        path=tmp_path / "digits.nnm", backend="numpy", log=lambda line: None
    ) as found:
        assert "backbone.norm.mean" not in found.summary()
        assert "6 in all" in found.summary()


def test_the_canonical_form_keeps_names() -> None:
    text = 'm:input shape=[4]; m:output shape=[4]; m:layers a(); a:source \'x/"y".onnx\' at="b/1";'
    canonical = format_model(text)
    assert parse(canonical) == parse(text)
    assert 'a:source "x/\\"y\\".onnx" at="b/1";' in canonical
