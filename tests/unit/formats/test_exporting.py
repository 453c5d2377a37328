"""`export` to StableHLO: graphs, sizes, constants, hyperparameters, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError, IrisDataset, ModelError, NNModel
from webnnm.formats.stablehlo.check import check_stablehlo

np = pytest.importorskip("numpy")

SOURCE = """
m:name tags;
m:input shape=[4] sequence=words;
m:output shape=[3] sequence=words;
m:layers matmul(w, shape=[8]), add(b), gelu(), dropout(0.5), matmul(w), add(b), softmax();
"""
IRIS = """
iris:input shape=[4];
iris:output shape=[3];
iris:layers matmul(w), add(b), softmax();
"""


async def model(source: str = SOURCE, **settings: Any) -> NNModel:
    return await NNModel.create(source=source, backend="numpy", log=lambda line: None, **settings)


async def stablehlo(exported: NNModel, *arguments: Any, **more: Any) -> str:
    return await exported.export(None, *arguments, format="stablehlo", **more)


def main(text: str) -> str:
    """Return the line with the arguments and results."""
    return text.splitlines()[1]


@pytest.mark.parametrize("graph", ["inference", "loss", "train"])
@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("sequence", [None, 5, {"words": 5}, {"words": None}])
async def test_graphs_and_sizes(graph: str, batch: int | None, sequence: Any) -> None:
    async with await model() as tags:
        text = await stablehlo(tags, graph, batch, sequence)
    assert text.startswith("module @tags {")
    assert check_stablehlo(text)
    length = 5 if sequence in (5, {"words": 5}) else "?"
    assert f"%arg0: tensor<{batch or '?'}x{length}x4xf32>" in main(text)
    assert ('"lr"' in main(text)) == (graph == "train")
    assert ("random/dropout1/0" in main(text)) == (graph == "train")


async def test_constants_embed_the_parameters() -> None:
    async with await model() as tags:
        text = await stablehlo(tags, "inference", 1, 2, constants=True)
        (bias,) = (p for p in tags.params() if p.name == "b2")
    assert main(text).count("%arg") == 1
    assert check_stablehlo(text)
    assert "tensor<8x3xf32>" in text
    assert not np.any(np.asarray(bias.value))


async def test_without_chlo_erf_is_a_polynomial() -> None:
    async with await model() as tags:
        assert '"chlo.erf"' in await stablehlo(tags, batch=1, sequence=2)
        assert "chlo" not in await stablehlo(tags, batch=1, sequence=2, chlo=False)


@pytest.mark.alike
async def test_recurrent_layers_become_loops() -> None:
    source = SOURCE.replace("matmul(w, shape=[8])", "gru(w, r, hiddenSize=8, returnSequence=true)")
    async with await model(source) as tags:
        text = await stablehlo(tags, loops=True)
        assert "stablehlo.while" in text
        assert check_stablehlo(text)
        assert "stablehlo.while" not in await stablehlo(tags, sequence=3)


async def test_hyperparameters_are_those_of_a_training() -> None:
    async with await model(IRIS, dataset=await IrisDataset.create()) as iris:
        plain = main(await stablehlo(iris, "train", optimizer="sgdm"))
        full = main(
            await stablehlo(
                iris, "train", optimizer="adam", gradientScaling=True, gradient_clipping="global"
            )
        )
    names = re.findall(r'"([^"]*)"', full)
    assert {"clock/beta1", "opt/m/w1", "opt/v/w1", "scale/value", "clip/mean"} <= {*names}
    assert "scale/value" not in plain
    assert "opt/m/w1" not in plain


async def test_half_precision_makes_the_inputs_halves() -> None:
    async with await model(IRIS, dataset=await IrisDataset.create()) as iris:
        text = await stablehlo(iris, "train", 4, compute_type="float16")
    assert "%arg0: tensor<4x4xf16>" in main(text)
    assert check_stablehlo(text)


@pytest.mark.parametrize(
    ("given", "error", "code"),
    [
        ({"graph": "inferense"}, ModelError, "NNM903"),
        ({"lr": 0.1}, DataError, "NNM703"),
        ({"graph": "train", "lrate": 0.1}, DataError, "NNM703"),
        ({"graph": "train", "lr": -1}, DataError, "NNM704"),
        ({"graph": "train", "constants": True}, DataError, "NNM704"),
        ({"batch": 0}, DataError, "NNM704"),
        ({"sequence": {"word": 3}}, DataError, "NNM711"),
    ],
)
async def test_what_is_refused(given: dict[str, Any], error: type[Exception], code: str) -> None:
    async with await model() as tags:
        with pytest.raises(error) as caught:
            await stablehlo(tags, **given)
    assert caught.value.code == code  # type: ignore[attr-defined]


async def test_a_wrong_word_gets_a_suggestion() -> None:
    async with await model() as tags:
        with pytest.raises(ModelError) as caught:
            await stablehlo(tags, "inferense")
    assert caught.value.hint == 'did you mean "inference"?'


async def test_nothing_to_train_is_nnm605() -> None:
    source = "m:input shape=[3]; m:output shape=[3]; m:layers softmax();"
    async with await model(source) as still:
        assert check_stablehlo(await stablehlo(still))
        with pytest.raises(DataError) as caught:
            await stablehlo(still, "train", 2)
    assert caught.value.code == "NNM605"


async def test_the_ending_of_the_path_is_the_format(tmp_path: Path) -> None:
    async with await model(IRIS) as iris:
        module = await iris.export(tmp_path / "iris.mlir")
        file = await iris.export(tmp_path / "iris.ONNX")
        assert module.read_text() == await stablehlo(iris)
        assert file.read_bytes() == await iris.export(format="onnx")
        assert (await iris.export(tmp_path / "iris.txt", format="onnx")).is_file()


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({}, "NNM704", "without a path"),
        ({"path": "iris.h5"}, "NNM704", 'of an export "iris.h5"'),
        ({"format": "onxx"}, "NNM704", 'did you mean "onnx"'),
        ({"path": "iris.onnx", "loops": True}, "NNM703", 'loops is an option of "stablehlo"'),
    ],
)
async def test_unknown_formats_and_options_are_refused(
    given: dict[str, Any], code: str, words: str
) -> None:
    async with await model(IRIS) as iris:
        with pytest.raises(DataError) as caught:
            await iris.export(**given)
    assert caught.value.code == code
    assert words in f"{caught.value} {caught.value.hint}"
