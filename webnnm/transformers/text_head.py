"""Trains a head on the sentence embeddings of a pretrained text encoder, which stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.data.intake import ONLY_BLOCK
from webnnm.data.split import PARTS
from webnnm.data.texts.labeled import LabeledTextDataset
from webnnm.editing.parts import join_models
from webnnm.model.nnmodel import NNModel
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import AnyStatement, BlockStatement, Document, Layer, Layers, Port
from webnnm.transformers.pretrained_model import PretrainedModel

TOKENS, EMBEDDING = "input_ids", "sentence_embedding"
HIDDEN, POOLED = "last_hidden_state", "pooler_output"
"""Further outputs of encoders, of which the embedding needs the first."""
ANSWER = "label"
"""The block of the embedding, then of what the head makes of it."""
CONSTANT_INPUTS = {
    "attention_mask": "mul(0, node=input_ids), add(1, name=attention_mask)",
    "token_type_ids": "mul(0, node=input_ids, name=token_type_ids)",
}
"""Inputs of encoders that are the same number for every token of a text, and layers for them.

Padding needs no mask: in a sequence of the notation it counts nowhere."""
HEAD = """\
label:input shape=[{width}];
label:output shape=[{outputs}];
label:layers
  mul({scale}),
  matmul(label_w),
  add(label_b){last}
"""
SCALE = 10
"""Embeddings have length 1: with larger numbers a head learns in fewer steps."""
BATCH = 32
"""Texts that are encoded at once."""


@require_await
async def train_text_head(
    encoder: PretrainedModel, dataset: LabeledTextDataset, **hyperparameters: Any
) -> NNModel:
    """Train a linear head on the sentence embeddings of an encoder, and return both as one model.

    >>> from webnnm import LabeledTextDataset, from_pretrained
    >>> async def learn(folder, texts, labels):
    ...     encoder = await from_pretrained(folder, pooling="mean")
    ...     dataset = LabeledTextDataset(texts, labels, tokens=encoder)
    ...     return await train_text_head(encoder, dataset, epochs=40)

    The encoder computes each text once; only the head is trained, on these features (A. Conneau, D.
    Kiela, 2018, "SentEval: an evaluation toolkit for universal sentence representations"). So a few
    labelled texts per class are enough, and words that no training row has are understood. The
    model takes texts, and is an `NNModel` as others are: its snapshot and its pages hold the
    encoder, so that nothing else is needed to predict. Its encoder is frozen: `train` continues to
    train the head.

    - `encoder`: a text encoder of `from_pretrained(…, pooling="mean")`, or "cls".
    - `dataset`: texts that the tokenizer of this encoder reads: `LabeledTextDataset(…,
      tokens=encoder)`.
    - `hyperparameters`: those of `NNModel.train`.

    Raises `DataError` NNM710 for an encoder without sentence embeddings or with other inputs,
    NNM702 for a dataset with other tokens, or with longer texts than the encoder has positions for,
    and the errors of `NNModel.train`.
    """
    document = write_trunk(encoder)
    if dataset.reader.tokenizer.file != getattr(encoder.tokenizer, "text", ""):
        raise DataError(
            "NNM702",
            f'the texts of "{dataset.name}" are read by another tokenizer than the encoder\'s',
            hint="LabeledTextDataset(texts, labels, tokens=encoder)",
        )
    length = dataset.reader.length
    if encoder.max_length is not None and length > encoder.max_length:
        raise DataError(
            "NNM702",
            f'"{dataset.name}" reads up to {length:,} tokens of a text, the encoder has positions '
            f"for {encoder.max_length:,}",
            hint=f"LabeledTextDataset(…, length={encoder.max_length})",
        )
    settings: dict[str, Any] = {"log": encoder.state.log, "seed": encoder.seed}
    own = {**settings, "source": format_document(document), "backend": encoder.backend.name}
    trunk = await NNModel.create(own)
    try:
        await trunk.load_params(encoder, only=[one.name for one in trunk.params()])
        embeddings = await _encode(trunk, dataset)
        source = _write_head(*embeddings.inputs.values(), *embeddings.outputs.values())
        head = await NNModel.create(source=source, dataset=embeddings, backend="numpy", **settings)
        try:
            await head.train(**hyperparameters)
            model = await join_models(trunk, head, freeze=True)
        finally:
            head.close()
    finally:
        trunk.close()
    model.set_dataset(dataset)
    return model


def write_trunk(encoder: PretrainedModel) -> Document:
    """Return the text of an encoder whose input are tokens alone, and its output the embedding.

    Raises `DataError` NNM710 for a model without such inputs and outputs.
    """
    inputs, outputs = {*encoder.inputs()}, {*encoder.outputs()}
    if EMBEDDING not in outputs or TOKENS not in inputs:
        raise DataError(
            "NNM710",
            f"a model from {', '.join(inputs)} to {', '.join(outputs)} has no embedding of texts",
            hint='from_pretrained(folder, pooling="mean") of a text encoder has one',
        )
    if others := inputs - {TOKENS, *CONSTANT_INPUTS}:
        raise DataError("NNM710", f"texts have no {', '.join(sorted(others))} for the encoder")
    layers = [layer for name, layer in CONSTANT_INPUTS.items() if name in inputs]
    document = parse(encoder.source)
    statements: list[AnyStatement] = []
    flow = _parse_layers(", ".join(layers))
    for statement in document.statements:
        block = statement.block if isinstance(statement, BlockStatement) else ""
        if isinstance(statement, Port) and block == TOKENS:
            statements.append(statement)
        elif isinstance(statement, Port):
            if block == EMBEDDING:
                statements.append(replace(statement, block=ANSWER))
        elif isinstance(statement, Layers) and block == HIDDEN:
            flow += (*statement.layers, *_parse_layers(f"identity(name={HIDDEN})"))
        elif isinstance(statement, Layers) and block == EMBEDDING:
            statements.append(replace(statement, block=ANSWER, layers=(*flow, *statement.layers)))
        elif isinstance(statement, BlockStatement) and block == HIDDEN:
            statements.append(replace(statement, block=ANSWER))
        elif block != POOLED:
            statements.append(statement)
    return replace(document, statements=tuple(statements))


def _parse_layers(text: str) -> tuple[Layer, ...]:
    (statement,) = parse(f"{ANSWER}:layers {text};").statements
    assert isinstance(statement, Layers)
    return statement.layers


async def _encode(trunk: NNModel, dataset: LabeledTextDataset) -> Dataset:
    """Return a dataset whose inputs are the embeddings of the texts."""
    (values,), (targets,) = (arrays.values() for arrays in dataset.arrays("full"))
    rows = values.tolist()
    for lengths in dataset.lengths("full").values():
        rows = [row[:length] for row, length in zip(rows, lengths, strict=True)]
    features: dict[int, list[float]] = {}
    # Texts of like lengths need little padding.
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        answers = await trunk.predict([rows[row] for row in batch], BATCH)
        features |= zip(batch, answers.tolist(), strict=True)
    indices = {row: index for index, row in enumerate(dataset.rows("full"))}
    (field,) = dataset.outputs.values()
    return Dataset(
        [features[index] for index in range(len(rows))],
        targets,
        name=dataset.name,
        batch_size=dataset.batch_size,
        split=[[indices[row] for row in dataset.rows(part)] for part in PARTS],
        seed=dataset.seed,
        labels=dataset.labels(),
        kinds={ONLY_BLOCK: field.kind},
        sample_weight=dataset.sample_weight,
    )


def _write_head(features: Field, targets: Field) -> str:
    """Return the text of a linear model of the features."""
    last = ",\n  softmax();" if targets.classes else ";"
    outputs = targets.classes or 1
    return HEAD.format(width=features.shape[0], outputs=outputs, scale=SCALE, last=last)
