"""Models whose network is an ONNX file, in the layout that is published for transformers.js."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.words import write_tokenizer
from tests.unit.transformers.onnx_folders import (
    SIZE,
    VOCABULARY,
    answerer,
    classifier,
    config,
    decoder,
    encoder,
    numbers,
    translator,
)
from webnnm import DataError, PretrainedOnnxModel
from webnnm.formats.onnx.exporting.file import set_external_data
from webnnm.formats.onnx.messages import GraphProto
from webnnm.formats.onnx.reader import read_model
from webnnm.formats.onnx.writer import serialize
from webnnm.graph.node import OperatorNode
from webnnm.transformers.decoding import GraphSpec

np = pytest.importorskip("numpy")
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
CLASSES = "TinyForSequenceClassification"
LABELS = {"id2label": {"0": "no", "1": "yes", "2": "maybe"}}
ENDS = {"eos_token_id": 3, "pad_token_id": 0}


def classifier_files(**files: bytes) -> dict[str, bytes]:
    return {
        "config.json": config(CLASSES, **LABELS),
        "tokenizer.json": write_tokenizer(),
        **{f"onnx/{name}.onnx": data for name, data in files.items()},
    }


def expected_logits(ids: list[int]) -> list[float]:
    table = numbers(len("table") + ord("e"), VOCABULARY, SIZE)
    matrix = numbers(len("w") + ord("w"), SIZE, 3)
    mean = [sum(table[token][k] for token in ids) / len(ids) for k in range(SIZE)]
    return [sum(mean[k] * matrix[k][j] for k in range(SIZE)) for j in range(3)]


async def test_outputs_are_those_of_the_file_for_a_type_of_weights() -> None:
    files = classifier_files(model=classifier(), model_quantized=classifier(3.0))
    for dtype, factor in (("fp32", 1.0), ("q8", 3.0), ({"model": "q8"}, 3.0), ("float32", 1.0)):
        async with await webnnm.from_pretrained(files, dtype=dtype, **QUIET) as model:
            assert isinstance(model, PretrainedOnnxModel) and isinstance(model, webnnm.HubModel)
            assert (model.inputs(), model.outputs()) == (
                ["input_ids", "attention_mask"],
                ["logits"],
            )
            results = await model.predict(
                input_ids=[[2, 5, 7], [4, 6, 0]], attention_mask=[[1, 1, 1], [1, 1, 0]]
            )
            expected = [[factor * x for x in expected_logits(ids)] for ids in ([2, 5, 7], [4, 6])]
            np.testing.assert_allclose(results["logits"], expected, rtol=1e-5, atol=1e-5)
            with pytest.raises(DataError, match="NNM710"):
                await model.predict(pixel_values=[[1.0]])
            with pytest.raises(DataError, match="NNM711: input_ids: 14 is not from 0 to 13"):
                await model.predict(input_ids=[[VOCABULARY]])
            with pytest.raises(DataError, match="NNM717: the model does not generate texts"):
                await model.generate_ids([1, 2])


async def test_weights_lie_beside_the_file(tmp_path: Path) -> None:
    message = read_model(classifier())
    graph = message.graph or GraphProto()
    (table,) = [tensor for tensor in graph.initializer if tensor.name == "table"]
    data = bytes(table.raw_data)
    set_external_data(table, "model.onnx_data")
    files = classifier_files(model=serialize(message))
    files["onnx/model.onnx_data"] = data
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    loaded: list[str] = []
    for source in (files, tmp_path, str(tmp_path)):
        progress = lambda name, done, total: loaded.append(name)  # noqa: E731
        async with await webnnm.from_pretrained(source, progress=progress, **QUIET) as model:
            (logits,) = (await model.predict(input_ids=[[2, 5]]))["logits"].tolist()
        assert logits == pytest.approx(expected_logits([2, 5]), abs=1e-5)
    assert {*loaded} == {"model.onnx", "model.onnx_data"}


async def test_files_beside_the_config_are_found() -> None:
    files = {"config.json": config(CLASSES, **LABELS), "model_int8.onnx": classifier()}
    async with await webnnm.from_pretrained(files, dtype="int8", **QUIET) as model:
        assert len((await model.predict(input_ids=[[2, 5]]))["logits"].tolist()[0]) == 3


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (
            "fp32",
            r"NNM715: the folder has no onnx/model.onnx\nhint: .*model_q4.onnx \(dtype=\"q4\"",
        ),
        ("q5", "NNM704: dtype is 'q5'"),
        ({"model": "q5"}, 'NNM704: there are no ONNX files of the dtype "q5"'),
    ],
)
async def test_types_of_weights_that_are_not_there(dtype: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        await webnnm.from_pretrained(classifier_files(model_q4=classifier()), dtype=dtype, **QUIET)


async def test_damaged_files_leave_nothing_open() -> None:
    backend = await webnnm.backend("numpy")
    files = classifier_files(model=classifier()[:-40])
    with pytest.raises(DataError, match="NNM801"):
        await webnnm.from_pretrained(files, backend=backend, log=QUIET["log"])
    assert (backend.memory().tensors, backend.memory().graphs) == (0, 0)


async def greedy(model: Any, ids: list[int], count: int) -> list[int]:
    """Return a text continued by the most likely tokens, each computed from the whole text."""
    ids = [*ids]
    for _ in range(count):
        (scores,) = (await model.predict(input_ids=[ids]))["logits"].tolist()
        ids.append(max(range(VOCABULARY), key=scores[-1].__getitem__))
        if ids[-1] == ENDS["eos_token_id"]:
            break
    return ids


DECODERS: dict[str, dict[str, Any]] = {
    "positions": {},
    "branches": {"merged": True},
    "grouped": {"grouped": True, "positions": "none"},
    "none": {"positions": "none"},
    "gathered": {"positions": "gathered", "merged": True},
    "sliced": {"positions": "sliced", "masked": False},
    "rotated": {"positions": "rotated"},
    "distances": {"positions": "none", "biased": True, "masked": False},
    "integers": {"integers": True},
}
STEPPING = ("positions", "branches", "grouped", "integers")
"""Those that take a past of a fixed length as it is."""


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("backend", ["numpy", "onnxruntime"])
async def test_cached_keys_change_no_token(kind: str, backend: str) -> None:
    if backend != "numpy":
        pytest.importorskip("onnxruntime")
    files = {
        "config.json": config("TinyForCausalLM", max_position_embeddings=64, **ENDS),
        "onnx/model.onnx": decoder(**DECODERS[kind]),
    }
    settings = {**QUIET, "backend": backend}
    async with await webnnm.from_pretrained(files, **settings) as model:
        assert model.outputs() == ["logits"]
        rows = [[2, 5, 6, 8, 9], [7], [13, 4, 11]]
        expected = [await greedy(model, row, 12) for row in rows]
        assert [await model.generate_ids(row, max_new_tokens=12) for row in rows] == expected
        assert await model.generate_ids(rows, max_new_tokens=12) == expected
        more = [*expected[0], 5, 9]
        assert await model.generate_ids(more, max_new_tokens=9) == await greedy(model, more, 9)
        assert len({token for row in expected for token in row}) > 6
        steps = model._generator.language.steps
    assert steps == (kind in STEPPING)


@pytest.mark.parametrize("kind", DECODERS)
async def test_only_new_tokens_are_computed(kind: str) -> None:
    files = {
        "config.json": config("TinyForCausalLM", max_position_embeddings=64, **ENDS),
        "onnx/model.onnx": decoder(**DECODERS[kind]),
    }
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        language = model._generator.language
        for ragged in (False, True):
            spec = GraphSpec(batch=2, tokens=0, length=32, ragged=ragged and not language.steps)
            graph, states = language.graph(spec)
            nodes = [node for node in graph.nodes() if isinstance(node, OperatorNode)]
            products = [node for node in nodes if node.operator.name == "matmul"]
            rows = {node.types[0].shape[-2] for node in products}
            if ragged and kind not in (*STEPPING, "none"):  # one position for all rows
                assert [*states][:1] == ["cache/ids"]
                continue
            assert rows == {1}
            assert {name: type.shape for name, type in states.items() if "cache/" in name} == {
                f"cache/past_key_values.0.{x}": (2, 2, 32, 16) for x in ("key", "value")
            }


async def test_pasts_of_unknown_use_are_computed_again() -> None:
    message = read_model(decoder(positions="none"))
    assert message.graph is not None
    (softmax,) = [step for step in message.graph.node if step.op_type == "Softmax"]
    softmax.op_type, softmax.attribute = "Hardmax", softmax.attribute
    files = {
        "config.json": config("TinyForCausalLM", max_position_embeddings=64, **ENDS),
        "onnx/model.onnx": serialize(message),
    }
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        ids = [2, 5, 6, 8, 9]
        assert await model.generate_ids(ids, max_new_tokens=12) == await greedy(model, ids, 12)
        _, states = model._generator.language.graph(GraphSpec(batch=1, tokens=0, length=32))
    assert "cache/ids" in states


async def test_texts_answer_sources() -> None:
    begins = {"is_encoder_decoder": True, "decoder_start_token_id": 2, **ENDS}
    files = {
        "config.json": config("TinyForConditionalGeneration", **begins),
        "tokenizer.json": write_tokenizer(),
        "onnx/encoder_model_quantized.onnx": encoder(),
        "onnx/decoder_model_merged_quantized.onnx": translator(),
    }
    async with await webnnm.from_pretrained(files, dtype="q8", **QUIET) as model:
        assert model.inputs() == ["input_ids", "attention_mask", "decoder_input_ids"]
        sources = [[5, 8, 9], [7, 11, 4, 6, 12]]
        for source in sources:
            ids = [2]
            while len(ids) < 13 and ids[-1] != 3:
                results = await model.predict(input_ids=[source], decoder_input_ids=[ids])
                scores = results["logits"].tolist()[0][-1]
                ids.append(max(range(VOCABULARY), key=scores.__getitem__))
            assert await model.generate_ids(source, max_new_tokens=12) == ids
        alone = [await model.generate_ids(s, max_new_tokens=8, num_beams=2) for s in sources]
        assert await model.generate_ids(sources, max_new_tokens=8, num_beams=2) == alone


ANSWERERS = {
    "gathered": {},
    "sliced": {"positions": "sliced"},
    "rotated": {"positions": "rotated"},
    "distances": {"positions": "none", "biased": True},
}


def answerer_files(kind: str, *, merged: bool = True, **more: Any) -> dict[str, bytes]:
    begins = {"is_encoder_decoder": True, "decoder_start_token_id": 2, **ENDS}
    settings: dict[str, Any] = ANSWERERS[kind]
    parts = {"decoder_model_merged": "merged"}
    if not merged:
        parts = {"decoder_model": "first", "decoder_with_past_model": "further"}
    return {
        "config.json": config("TinyForConditionalGeneration", **begins, **more),
        "onnx/encoder_model.onnx": encoder(),
        **{f"onnx/{name}.onnx": answerer(part, **settings) for name, part in parts.items()},
    }


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "two files"])
@pytest.mark.parametrize("kind", ANSWERERS)
async def test_answers_have_the_scores_of_all_their_tokens(kind: str, merged: bool) -> None:
    files = answerer_files(kind, merged=merged, max_position_embeddings=40)
    sources = [[5, 8, 9], [7, 11, 4, 6, 12]]
    async with await webnnm.from_pretrained(files, **QUIET) as model:

        async def score(source: list[int], ids: list[int]) -> Any:
            results = await model.predict(input_ids=[source], decoder_input_ids=[ids])
            return np.asarray(results["logits"])[0, -1]

        async def check(choice: int, starts: list[list[int]]) -> None:
            """Compare the scores of each step with those of the whole text."""
            steps: list[tuple[Any, list[list[int]]]] = []

            def choose(scores: Any, texts: list[list[int]]) -> list[int]:
                steps.append((np.array(scores), [[*text] for text in texts]))
                return [4 + (choice * len(text) + row) % 9 for row, text in enumerate(texts)]

            count = 14 - max(map(len, starts))
            await model.generate_ids(
                sources, decoder_input_ids=starts, max_new_tokens=count, choose=choose
            )
            assert len(steps) == count
            for scores, texts in steps:
                for row, text in enumerate(texts):
                    expected = await score(sources[row], text)
                    assert np.abs(scores[row] - expected).max() < 1e-5 * np.abs(expected).max()

        await check(5, [[2], [2]])
        await check(7, [[2, 6, 9], [2, 4, 4]])
        await check(7, [[2, 6, 9], [2]])
        alone = [await model.generate_ids(s, max_new_tokens=9, num_beams=3) for s in sources]
        assert await model.generate_ids(sources, max_new_tokens=9, num_beams=3) == alone
        language = model._generator.language
        _, states = language.graph(
            GraphSpec(batch=2, tokens=0, length=32, source=(("source", 16),))
        )
        assert "cache/past_key_values.0.decoder.key" in states and "cache/ids" not in states
        assert language.max_length == 40


async def test_equal_weights_of_two_files_are_stored_once() -> None:
    async with await webnnm.from_pretrained(answerer_files("gathered"), **QUIET) as model:
        one = model.backend.memory().bytes
    files = answerer_files("gathered", merged=False)
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        assert model.backend.memory().bytes == one


async def test_pipelines_take_the_files() -> None:
    pytest.importorskip("tokenizers")
    files = classifier_files(model_quantized=classifier())
    settings = {**QUIET, "dtype": "q8"}
    async with await webnnm.pipeline("text-classification", files, **settings) as classify:
        result, *_ = await classify(["so good day"], top_k=None)
        logits = expected_logits([2, 5, 6, 10, 3])
        best = max(range(3), key=logits.__getitem__)
        assert result[0]["label"] == ["no", "yes", "maybe"][best]
    with pytest.raises(DataError, match="NNM717: TinyForSequenceClassification cannot be used"):
        await webnnm.pipeline("text-generation", files, **settings)
