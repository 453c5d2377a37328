"""Models in parts: they compute what the whole computes, to the bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.places import VALID
from webnnm import (
    DataError,
    Dataset,
    ModelError,
    NNModel,
    format_model,
    join_models,
    replace_head,
    split_model,
)

np = pytest.importorskip("numpy")


async def create(source: str, **settings: Any) -> NNModel:
    return await NNModel.create(source=source, backend="numpy", log=lambda _: None, **settings)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


def draw(model: NNModel, rows: int = 5, length: int = 6) -> dict[str, Any]:
    draw = np.random.default_rng(3)
    found: dict[str, Any] = {}
    for vertex in model.state.network.inputs:
        name = vertex.features[0].sequence
        steps = [vertex.length or model.state.sequence.get(name, length)] if name else []
        shape = (rows, *steps, *vertex.features[0].sizes())
        if "int" in vertex.dtype:
            found[vertex.block] = draw.integers(0, 7, shape).astype(vertex.dtype)
        else:
            found[vertex.block] = draw.normal(size=shape).astype(vertex.dtype)
    return found


async def check(source: str, at: str) -> tuple[NNModel, NNModel, NNModel]:
    """Check the parts of a model, and return it with them."""
    model = await create(source, seed=7)
    inputs = draw(model)
    return model, *(await check_parts(model, at, inputs, await model.predict(inputs)))


async def check_parts(
    model: NNModel, at: str, inputs: dict[str, Any], expected: Any
) -> tuple[NNModel, NNModel]:
    """Split a model; its parts, one after the other and put together, compute what it computes."""
    trunk, head = await split_model(model, at)
    first = await trunk.predict({n: v for n, v in inputs.items() if n in trunk.inputs()})
    between = {n: v for n, v in {**inputs, **first}.items() if n in head.inputs()}
    found = {**first, **(await head.predict(between))}
    whole = await join_models(trunk, head)
    again = await whole.predict(inputs)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    # The value between is an output no more where something else makes its block a root block.
    assert set(again) | {trunk.outputs()[-1]} >= set(expected) >= set(again)
    for name, value in again.items():
        np.testing.assert_array_equal(value, expected[name])
    counts = [len(m.params()) for m in (model, trunk, head, whole)]
    assert counts[0] == counts[1] + counts[2] == counts[3]
    return trunk, head


def places(model: NNModel) -> list[str]:
    """Return the words that stand once: where the model could be split."""
    found: list[str] = []
    for block in model.state.network.outline.roots:
        layers = block.layers.layers if block.layers else ()
        words = [word for layer in layers for word in (layer.operator, layer.option("name"))]
        found += [block.name, *(str(getattr(word, "value", word)) for word in words if word)]
    return [word for word in found if found.count(word) == 1]


@pytest.mark.desktop
async def test_every_example_wherever_it_can_be_split() -> None:
    done = 0
    for path in sorted(VALID.glob("*.nnm")):
        facts = json.loads(path.with_suffix(".json").read_text())
        if facts["parameterCount"] > 100_000:
            continue
        text, length = path.read_text(), facts.get("sequence") or None
        model = await create(text, seed=7, sequence_length=length)
        inputs = draw(model)
        expected = await model.predict(inputs)
        for at in places(model):
            try:
                await check_parts(model, at, inputs, expected)
            except DataError as error:
                assert error.code == "NNM704", (path.name, at, error)
            else:
                done += 1
    assert done > 50


MLP = """
m:name digits; m:input shape=[4]; m:output shape=[3]; m:loss CCE;
m:layers matmul(w, shape=[8]), add(b), relu(), matmul(w, shape=[6], name=last), add(b), tanh(),
  matmul(w), add(b), softmax();
"""
BLOCKS = """
m:input {channels: 2, height: 6, width: 6}; m:output shape=[3];
m:layers trunk(), head(shape=[3]);
trunk:layers stage(filters=4), stage(filters=5);
stage:layers conv2d(f, filters=filters, kernel=[3, 3]), batchNormalization(), activation();
head:layers globalAveragePool(), matmul(w), softmax();
"""
HEADS = """
a:input shape=[3]; b:input shape=[2];
b:layers matmul(w, shape=[3]);
base:output shape=[5]; base:layers add([a, b]), matmul(w, shape=[5]), tanh();
left:output shape=[2]; left:layers matmul(w, node=base), softmax();
right:output shape=[1]; right:layers matmul(w, node=base), sigmoid();
"""
TWO = """
base:input shape=[3]; base:layers matmul(w, shape=[5]), tanh();
left:output shape=[2]; left:layers matmul(w, node=base), softmax();
right:output shape=[1]; right:layers matmul(w, node=base), sigmoid();
"""
WORDS = """
m:param table float32 shape=[7, 4], scale float32 shape=[4];
m:input int32 shape=[] sequence=words; m:output shape=[3];
m:layers embedding(table), block(repeat=2), pool(), matmul(w), softmax();
block:layers attend(q, k, v, o, heads=2), residual(to=input), mul(scale);
pool:layers reduceMean(axes=sequence);
"""


@pytest.mark.parametrize(
    ("source", "at"),
    [
        (MLP, "last"),
        (MLP, "tanh"),
        (MLP, "softmax"),
        (BLOCKS.replace("input {", "input shape={"), "head"),
        (HEADS, "base"),
        (HEADS, "tanh"),
        (TWO, "base"),
        (TWO, "tanh"),
        (WORDS, "block"),
        (WORDS, "pool"),
    ],
)
async def test_parts_compute_what_the_whole_computes(source: str, at: str) -> None:
    await check(source, at)


async def test_texts_come_back_as_they_were() -> None:
    model, trunk, head = await check(MLP, "last")
    assert trunk.outputs() == head.inputs() == ["m"]
    assert trunk.params()[0].name == head.params()[0].name == "w1"
    assert "loss" not in trunk.serialize() and "m:loss CCE" in head.serialize()
    whole = await join_models(trunk, head)
    assert [p.name for p in whole.params()] == [p.name for p in model.params()]
    assert values(whole) == values(model)
    assert whole.name == "digits"


@pytest.mark.parametrize(
    ("source", "at", "code", "words"),
    [
        (MLP, "lost", "NNM710", 'no layer "lost"'),
        (MLP, "matmul", "NNM710", "appears 3 times"),
        (MLP.replace("m:layers ", "m:layers cos(), "), "cos", "NNM704", "trunk would be empty"),
        (MLP, "m", "NNM704", "head is empty"),
        (
            MLP.replace("tanh()", "residual(skip=4, project=true), tanh()"),
            "last",
            "NNM704",
            "the head also needs layer",
        ),
        (
            MLP.replace("tanh()", "residual(to=m:input, project=true)"),
            "last",
            "NNM704",
            'input "m"',
        ),
        (
            WORDS.replace("pool(), matmul(w)", "pool(), mul(scale), matmul(w)"),
            "pool",
            "NNM704",
            'parameter "scale"',
        ),
    ],
)
async def test_what_cannot_be_split(source: str, at: str, code: str, words: str) -> None:
    model = await create(source)
    with pytest.raises(DataError) as caught:
        await split_model(model, at)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value


async def test_parts_are_files_of_their_own(tmp_path: Path) -> None:
    model, trunk, head = await check(MLP, "last")
    files = [await part.save(tmp_path / f"{k}.st") for k, part in enumerate((trunk, head))]
    loaded = [await NNModel.load(path, backend="numpy", log=lambda _: None) for path in files]
    whole = await join_models(*loaded)
    inputs = draw(model)
    expected = await model.predict(inputs)
    np.testing.assert_array_equal((await whole.predict(inputs))["m"], expected["m"])


async def test_the_head_alone_is_replaced(tmp_path: Path) -> None:
    model, trunk, head = await check(MLP, "last")
    other, *_ = await check(MLP, "last")
    for name in values(other):
        other.state.parameters.set(
            name,
            np.random.default_rng(1).random(other.state.parameters.types[name].shape, "float32"),
        )
    _, new = await split_model(other, "last")
    file = await new.save(tmp_path / "head.st")
    new = await NNModel.load(file, backend="numpy", log=lambda _: None)
    before, wanted = values(model), values(other)
    taken = replace_head(model, new)
    assert taken == ["w2", "b2", "w3", "b3"]
    for name, value in values(model).items():
        assert value == (wanted if name in taken else before)[name]
    expected = await (await join_models(trunk, new)).predict(draw(model))
    np.testing.assert_array_equal((await model.predict(draw(model)))["m"], expected["m"])
    strange = await create(MLP.replace("tanh", "sin"))
    with pytest.raises(ModelError) as caught:
        replace_head(strange, head)
    assert caught.value.code == "NNM206"


def rows() -> Dataset:
    draw = np.random.default_rng(2)
    x = draw.normal(size=(60, 4)).astype("float32") * 3 + 1
    labels = (x[:, 0] > 1).astype("int32") + (x[:, 1] > 1)
    return Dataset(x, labels, split=(1, 0, 0), standardize=True, labels=["a", "b", "c"])


@pytest.mark.alike
async def test_only_the_head_learns() -> None:
    model = await create(MLP)
    trunk, head = await split_model(model, "last")
    whole = await join_models(trunk, head, freeze=True)
    whole.set_dataset(rows())
    before = values(whole)
    history = await whole.train(epochs=10, seeds=0)
    after = values(whole)
    assert {n for n in after if after[n] == before[n]} == {"w1", "b1"}
    assert history.losses[-1] < history.losses[0]
    free = await join_models(trunk, head)
    free.set_dataset(rows())
    await free.train(epochs=2, seeds=0)
    assert not {n for n, value in values(free).items() if value == before[n]}


async def test_what_is_known_of_the_data_goes_with_its_part() -> None:
    model = await create(MLP, dataset=rows())
    trunk, head = await split_model(model, "last")
    first, second = trunk.state.restored, head.state.restored
    assert first is not None and second is not None
    assert first.inputs.keys() == {"m"} and not first.answers
    assert second.answers["m"].names == ("a", "b", "c") and not second.inputs
    whole = await join_models(trunk, head)
    raw = [[2.0, 1.0, 0.5, -1.0]]
    expected = await model.predict(raw)
    np.testing.assert_array_equal(await whole.predict(raw), expected)
    assert whole.state.restored is not None and whole.state.restored.answers == second.answers


# Parts that were written apart.

TRUNK = "base:input shape=[4]; base:output shape=[6]; base:layers matmul(w), relu();"
HEAD = """kind:input shape=[6]; kind:output shape=[3];
kind:layers matmul(w, shape=[3]), add(b), softmax();
"""


async def concatenate(trunk: str, head: str, **settings: Any) -> tuple[NNModel, NNModel, NNModel]:
    parts = await create(trunk, seed=1), await create(head, seed=2)
    return *parts, await join_models(*parts, **settings)


@pytest.mark.parametrize(
    ("trunk", "head"),
    [
        (TRUNK, HEAD),
        (TRUNK, HEAD.replace("kind", "base")),
        (TRUNK, HEAD.replace("add(b)", "residual(to=input, project=true)")),
        (
            TRUNK,
            HEAD.replace("add(b)", "inner()")
            + "inner:layers residual(to=kind:input, project=true);",
        ),
        (TRUNK, HEAD.replace("add(b)", "residual(skip=1, project=true)")),
        (
            TRUNK,
            HEAD.replace("kind", "base").replace("add(b)", "residual(to=base:input, project=true)"),
        ),
        (TRUNK + "base:loss MSE; base:name one", HEAD + "kind:name two; kind:loss CCE"),
        (
            "a:input shape=[3, 8, 8]; a:output shape=[4, 6, 6];"
            "a:layers conv2d(f, filters=4, kernel=[3, 3]);",
            "b:input shape={height: 4, width: 6, channels: 6}; b:output shape=[2];"
            "b:layers conv2d(f, filters=2, kernel=[3, 3]), globalAveragePool();",
        ),
        (TRUNK, HEAD.replace("output", "output float16").replace("softmax()", "cast(float16)")),
    ],
)
async def test_parts_written_apart(trunk: str, head: str) -> None:
    first, second, whole = await concatenate(trunk, head)
    inputs = draw(first)
    (between,) = (await first.predict(inputs)).values()
    expected = await second.predict({second.inputs()[0]: between})
    found = await whole.predict(inputs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    assert format_model(whole.serialize()) == whole.serialize()


async def test_a_declared_type_of_the_trunk_is_kept() -> None:
    trunk = TRUNK.replace("base:input", "base:input float16").replace("matmul(w), ", "")
    trunk = trunk.replace("shape=[6]", "float32 shape=[4]")
    first, second, whole = await concatenate(trunk, HEAD.replace("shape=[6]", "shape=[4]"))
    inputs = draw(first)
    (between,) = (await first.predict(inputs)).values()
    np.testing.assert_array_equal(
        (await whole.predict(inputs))["kind"], await second.predict(between)
    )


@pytest.mark.parametrize(
    ("trunk", "head", "code", "words"),
    [
        (TRUNK, HEAD.replace("[6]", "[5]"), "NNM702", 'base" of the trunk is float32[6], input'),
        (TRUNK, HEAD.replace("shape=[6]", "float16 shape=[6]"), "NNM702", "float16[6]"),
        (TRUNK, HEAD.replace("shape=[6]", "shape=[6] sequence=true"), "NNM702", 'along "sequence"'),
        (TRUNK, HEAD + "more:input shape=[1];", "NNM710", "the inputs kind, more"),
        (
            TRUNK,
            HEAD.replace("add(b)", "base()") + "base:layers tanh();",
            "NNM206",
            'a block "base"',
        ),
        (
            TRUNK.replace("matmul(w)", "block(), matmul(w)") + "block:layers tanh();",
            HEAD.replace("add(b)", "block()") + "block:layers sin();",
            "NNM206",
            'a block "block"',
        ),
        (
            TRUNK.replace("(w)", "(u)") + "base:param u shape=[4, 6];",
            HEAD.replace("(w", "(u") + "kind:param u shape=[6, 3];",
            "NNM206",
            'declare a parameter "u"',
        ),
        (
            TRUNK.replace("(w)", "(u)"),
            HEAD.replace("(w)", "(u)") + "kind:param u shape=[6, 3];",
            "NNM206",
            "",
        ),
        (
            TRUNK.replace("relu()", "relu(name=b)"),
            HEAD,
            "NNM206",
            'use "b" for different things',
        ),
    ],
)
async def test_parts_that_do_not_fit(trunk: str, head: str, code: str, words: str) -> None:
    parts = await create(trunk), await create(head)
    with pytest.raises((DataError, ModelError)) as caught:
        await join_models(*parts)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value


async def test_the_output_of_the_trunk_may_stay() -> None:
    first, _, whole = await concatenate(TRUNK, HEAD, keep_output=True)
    inputs = draw(first)
    found = await whole.predict(inputs)
    assert found.keys() == {"base", "kind"}
    np.testing.assert_array_equal(found["base"], (await first.predict(inputs))["base"])
    with pytest.raises(DataError) as caught:
        await concatenate(TRUNK, HEAD.replace("kind", "base"), keep_output=True)
    assert caught.value.code == "NNM704"


async def test_a_head_that_standardises_what_it_takes_is_refused() -> None:
    trunk = await create("base:input shape=[4]; base:output shape=[4]; base:layers relu();")
    head = await create("kind:input shape=[4]; kind:output shape=[3]; kind:layers matmul(w);")
    head.set_dataset(rows())
    with pytest.raises(DataError, match="standardises its input") as caught:
        await join_models(trunk, head)
    assert caught.value.code == "NNM704"


async def test_a_frozen_trunk_is_not_taken_for_a_random_one() -> None:
    log: list[str] = []
    trunk = await create("b:input shape=[99]; b:output shape=[99]; b:layers matmul(w), relu();")
    head = await create("h:input shape=[99]; h:output shape=[2]; h:layers matmul(v), softmax();")
    for one in (trunk, head):
        one.state.trained = True
    model = await join_models(trunk, head, freeze=True, log=log.append)
    assert log and not [line for line in log if "E4" in line]
    for one in (trunk, head, model):
        one.close()
