"""`export_stablehlo`: graphs, sizes, constants, hyperparameters, and what is refused."""

from __future__ import annotations

import re
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


def main(text: str) -> str:
    """Return the line with the arguments and results."""
    return text.splitlines()[1]


@pytest.mark.parametrize("graph", ["inference", "loss", "train"])
@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("sequence", [None, 5, {"words": 5}, {"words": None}])
async def test_graphs_and_sizes(graph: str, batch: int | None, sequence: Any) -> None:
    async with await model() as tags:
        text = tags.export_stablehlo(graph, batch, sequence)
    assert text.startswith("module @tags {")
    assert check_stablehlo(text)
    length = 5 if sequence in (5, {"words": 5}) else "?"
    assert f"%arg0: tensor<{batch or '?'}x{length}x4xf32>" in main(text)
    assert ('"lr"' in main(text)) == (graph == "train")
    assert ("random/dropout1/0" in main(text)) == (graph == "train")


async def test_constants_embed_the_parameters() -> None:
    async with await model() as tags:
        text = tags.export_stablehlo("inference", 1, 2, constants=True)
        (bias,) = (p for p in tags.params() if p.name == "b2")
    assert main(text).count("%arg") == 1
    assert check_stablehlo(text)
    assert "tensor<8x3xf32>" in text
    assert not np.any(np.asarray(bias.value))


async def test_without_chlo_erf_is_a_polynomial() -> None:
    async with await model() as tags:
        assert '"chlo.erf"' in tags.export_stablehlo(batch=1, sequence=2)
        assert "chlo" not in tags.export_stablehlo(batch=1, sequence=2, chlo=False)


@pytest.mark.alike
async def test_recurrent_layers_become_loops() -> None:
    source = SOURCE.replace("matmul(w, shape=[8])", "gru(w, r, hiddenSize=8, returnSequence=true)")
    async with await model(source) as tags:
        text = tags.export_stablehlo(while_=True)
        assert "stablehlo.while" in text
        assert check_stablehlo(text)
        assert "stablehlo.while" not in tags.export_stablehlo(sequence=3)


async def test_hyperparameters_are_those_of_a_training() -> None:
    async with await model(IRIS, dataset=await IrisDataset.create()) as iris:
        plain = main(iris.export_stablehlo("train", optimizer="sgdm"))
        full = main(
            iris.export_stablehlo(
                "train", optimizer="adam", gradientScaling=True, gradient_clipping="global"
            )
        )
    names = re.findall(r'"([^"]*)"', full)
    assert {"clock/beta1", "opt/m/w1", "opt/v/w1", "scale/value", "clip/mean"} <= {*names}
    assert "scale/value" not in plain
    assert "opt/m/w1" not in plain


async def test_half_precision_makes_the_inputs_halves() -> None:
    async with await model(IRIS, dataset=await IrisDataset.create()) as iris:
        text = iris.export_stablehlo("train", 4, compute_type="float16")
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
            tags.export_stablehlo(**given)
    assert caught.value.code == code  # type: ignore[attr-defined]


async def test_a_wrong_word_gets_a_suggestion() -> None:
    async with await model() as tags:
        with pytest.raises(ModelError) as caught:
            tags.export_stablehlo("inferense")
    assert caught.value.hint == 'did you mean "inference"?'


async def test_nothing_to_train_is_nnm605() -> None:
    source = "m:input shape=[3]; m:output shape=[3]; m:layers softmax();"
    async with await model(source) as still:
        assert check_stablehlo(still.export_stablehlo())
        with pytest.raises(DataError) as caught:
            still.export_stablehlo("train", 2)
    assert caught.value.code == "NNM605"
