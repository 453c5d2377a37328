"""Occlusion: predictions of a text with each of its tokens left out in turn."""

from __future__ import annotations

from itertools import chain
from typing import Any, Protocol

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError, suggestion
from webnnm.data.texts.reading import TextReader
from webnnm.evaluation.token_importance import TokenImportance
from webnnm.runtime.inference.answers import Prediction
from webnnm.runtime.state import ModelState


class PredictsTexts(Protocol):
    """A model that predicts texts."""

    @property
    def state(self) -> ModelState:
        """The state of the model."""
        ...

    async def predict(self, data: Any) -> Any:
        """Return the predictions for rows."""
        ...


@require_await
async def token_importance(
    model: PredictsTexts, text: str, *, label: str | int | None = None
) -> TokenImportance:
    """Measure which tokens of a text matter to a prediction, by leaving out each of them.

    >>> print(await token_importance(model, "So good!"))  # doctest: +SKIP
    yes 93.0%, and how much of it goes without each token
    token  importance
    so         0.0310
    good       0.4210
    !         -0.0020

    (J. Li, W. Monroe, D. Jurafsky, 2016, "Understanding neural networks through representation
    erasure".) Of n-grams those of a word are left out at once. Two tokens that say the same may
    both seem unimportant, since either is enough.

    - `model`: a model of a `LabeledTextDataset`, or its snapshot.
    - `label`: the class whose probability is looked at, by default the predicted one.

    Raises `DataError` NNM702 for a model of several inputs or outputs, or without texts, NNM706 for
    an unknown class, NNM711 for an empty text.
    """
    block, reader = _find_reader(model.state)
    [tokens] = reader.encode(f'input "{block}"', text)
    units = reader.read_units(text)
    unknown = reader.tokenizer.unknown
    nothing = [0 if unknown is None else unknown]  # a row has at least one token
    without = [
        [*chain.from_iterable(ids for _, ids in units[:index] + units[index + 1 :])] or nothing
        for index in range(len(units))
    ]
    answer = await model.predict([tokens, *without])
    [output] = model.state.network.outputs
    name, column = output.name, 0
    if isinstance(answer, Prediction):
        name, column = _find_class(answer, label)
    elif label is not None:
        raise DataError("NNM706", f'label is "{label}", but "{name}" is a number')
    values = [_read_value(row, column, answer) for row in answer.tolist()]
    return TokenImportance(
        tuple(name for name, _ in units),
        tuple(values[0] - value for value in values[1:]),
        name,
        values[0],
        isinstance(answer, Prediction),
    )


def _find_reader(state: ModelState) -> tuple[str, TextReader]:
    facts, blocks = state.data_facts(), [vertex.block for vertex in state.network.inputs]
    form = facts.form(blocks[0])
    if len(blocks) != 1 or len(state.network.outputs) != 1 or form is None or form.reader is None:
        raise DataError(
            "NNM702",
            f"{state.network.name or 'the model'} does not predict one output of one text",
            hint="models of a LabeledTextDataset do",
        )
    return blocks[0], form.reader


def _find_class(answer: Prediction, label: str | int | None) -> tuple[str, int]:
    """Return the name and the position of the class whose probability is looked at."""
    label = answer.classes[0] if label is None else label
    if label not in answer.labels:
        hint = suggestion(str(label), map(str, answer.labels)) or f"one of {answer.labels}"
        raise DataError("NNM706", f"no class {label!r}", hint=hint)
    return str(label), answer.labels.index(label)


def _read_value(row: Any, column: int, answer: Any) -> float:
    """Return a number of a row; a single probability is that of the second class."""
    numbers: list[float] = row if isinstance(row, list) else [row]
    if isinstance(answer, Prediction) and len(numbers) == 1:
        return numbers[0] if column else 1 - numbers[0]
    return numbers[column]
