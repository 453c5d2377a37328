"""Heads on the sentence embeddings of pretrained encoders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.transformers.tiny_bert import bert_files
from webnnm import DataError, LabeledTextDataset, NNModel, from_pretrained, train_text_head
from webnnm.data.texts.vocabulary import learn_vocabulary

pytestmark = pytest.mark.desktop
SETTINGS: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
TEXTS = ["so good", "a lovely day today", "good and lovely", "bad", "what a sad day", "so bad, sad"]
LABELS = ["yes", "yes", "yes", "no", "no", "no"]


async def open_encoder(pooling: str | None = "mean", **more: Any) -> Any:
    pytest.importorskip("tokenizers")
    tokenizer = learn_vocabulary(TEXTS, "words", size=99, minimum_count=1, lowercase=True)
    files = bert_files(tokenizer.size) | {"tokenizer.json": tokenizer.file.encode()}
    return await from_pretrained(files, pooling=pooling, **SETTINGS, **more)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
async def test_the_model_computes_what_the_encoder_and_the_head_do(pooling: str) -> None:
    encoder = await open_encoder(pooling)
    data = LabeledTextDataset(TEXTS, LABELS, tokens=encoder, split=(4, 1, 1))
    model = await train_text_head(encoder, data, epochs=3)
    ids = data.encode("what a lovely day")
    embedding = (await encoder.predict(input_ids=ids))["sentence_embedding"].tolist()
    values = {p.name: p.value for p in model.params() if p.name.startswith("label_")}
    head = await NNModel.create(
        source="h:input shape=[16]; h:output shape=[2]; "
        "h:layers mul(10), matmul(w), add(b), softmax();",
        **SETTINGS,
    )
    await head.load_params({"w1": values["label_w1"], "b1": values["label_b1"]})
    expected = (await head.predict(embedding)).tolist()
    answers = await model.predict(["what a lovely day", "bad"])
    assert answers.tolist()[0] == pytest.approx(expected[0], abs=1e-5)
    assert [*answers.labels] == ["no", "yes"] and (await model.test()).samples == 1
    for one in (encoder, head, model):
        one.close()


async def test_the_snapshot_holds_the_encoder_and_training_goes_on_with_the_head() -> None:
    encoder = await open_encoder()
    data = LabeledTextDataset(TEXTS * 4, LABELS * 4, tokens=encoder, split=(1, 0, 0))
    model = await train_text_head(encoder, data, epochs=30)
    encoder.close()
    expected = (await model.predict(TEXTS)).tolist()
    file = await model.save()
    model.close()
    lines: list[str] = []
    async with await NNModel.load(file, backend="numpy", log=lines.append) as again:
        assert (await again.predict(TEXTS)).tolist() == expected
        assert not any("E4" in line for line in lines)
        again.set_dataset(data)
        before = {one.name: one.value.tolist() for one in again.params()}
        await again.train(epochs=1)
        changed = [one.name for one in again.params() if one.value.tolist() != before[one.name]]
    assert changed == ["label_w1", "label_b1"]


async def test_numbers_are_learnt_in_their_own_units() -> None:
    encoder = await open_encoder()
    numbers = [90.0, 80.0, 100.0, 10.0, 20.0, 30.0]
    options: dict[str, Any] = {"standardize_targets": True, "split": (1, 0, 0), "tokens": encoder}
    data = LabeledTextDataset(TEXTS, numbers, **options)
    model = await train_text_head(encoder, data, epochs=200)
    first, *_, last = (await model.predict(TEXTS)).tolist()
    assert first[0] > 55 > last[0]
    encoder.close()
    model.close()


async def test_what_does_not_fit_is_named() -> None:
    encoder, plain = await open_encoder(), await open_encoder(None)
    data = LabeledTextDataset(TEXTS, LABELS, tokens=encoder)
    with pytest.raises(DataError, match=r"NNM710: a model from .* has no embedding of texts"):
        await train_text_head(plain, data)
    words = LabeledTextDataset(TEXTS, LABELS)
    with pytest.raises(DataError, match='NNM702: the texts of "texts" are read by another'):
        await train_text_head(encoder, words)
    long = LabeledTextDataset(TEXTS, LABELS, tokens=encoder, length=41)
    with pytest.raises(
        DataError, match=r"NNM702.* 41 tokens of a text, .* positions for 40"
    ) as told:
        await train_text_head(encoder, long)
    assert "length=40" in str(told.value)
    encoder.close()
    plain.close()


async def test_texts_are_read_as_far_as_the_encoder_has_positions() -> None:
    encoder = await open_encoder()
    texts = [f"{text} " * 30 for text in TEXTS]
    data = LabeledTextDataset(texts, LABELS, tokens=encoder, split=(4, 1, 1))
    assert data.reader.length == encoder.max_length == 40
    model = await train_text_head(encoder, data, epochs=1)
    assert (await model.predict(texts)).shape == (6, 2)
    encoder.close()
    model.close()
