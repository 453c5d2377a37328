"""The hidden states of texts, or one vector for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.text_rows import as_list, encode_text, run_rows

POOLINGS = ("none", "mean", "cls")


class FeatureExtraction(Pipeline):
    """Returns the last hidden state of each token of texts, or the mean over them.

    >>> async def embed(extract):
    ...     return await extract(["a cat", "a kitten"], pooling="mean", normalize=True)
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"last_hidden_state"})
    classes = "text encoders, …Model"
    uses_tokenizer = True
    general = True

    async def __call__(
        self,
        inputs: str | Sequence[str],
        *,
        pooling: str = "none",
        normalize: bool = False,
        batch_size: int = 1,
        truncation: bool = False,
    ) -> Any:
        """Return an array `[1, tokens, size]` for each text, or `[texts, size]` with a pooling.

        A single text gives one such array, a list of texts without a pooling a list of them.

        - `pooling`: "none", "mean" of all tokens, or "cls", the first one.
        - `normalize`: whether vectors are scaled to length 1, for a `pooling`.
        """
        if pooling not in POOLINGS:
            hint = f"one of {', '.join(POOLINGS)}"
            raise DataError("NNM704", f'pooling is "{pooling}"', hint=hint)
        texts, single = as_list(inputs, str)
        if pooling != "none":
            vectors = await self.embed(
                texts, pooling, normalize=normalize, batch_size=batch_size, truncation=truncation
            )
            return HostArray.of(vectors, "float32").public()
        states = [state async for state in self._compute(texts, batch_size, truncation=truncation)]
        arrays = [HostArray(one.dtype, (1, *one.shape), one.data).public() for one in states]
        return arrays[0] if single else arrays

    async def embed(
        self,
        texts: Sequence[str],
        pooling: str,
        *,
        normalize: bool,
        batch_size: int,
        truncation: bool,
    ) -> list[list[float]]:
        """Return a vector for each text; the arguments are those of a call."""
        return [
            _pool(states.tolist(), pooling, normalize)
            async for states in self._compute(texts, batch_size, truncation=truncation)
        ]

    async def _compute(
        self, texts: Sequence[str], batch_size: int, *, truncation: bool
    ) -> AsyncIterator[HostArray]:
        """Yield the last hidden states of each text."""
        rows = (encode_text(self.model, text, truncation=truncation) for text in texts)
        async for result in run_rows(self.model, rows, batch_size):
            yield result.outputs["last_hidden_state"].part(0, len(result.row.ids))


def _pool(states: Sequence[Sequence[float]], pooling: str, normalize: bool) -> list[float]:
    vector = [*states[0]]
    if pooling == "mean":
        vector = [sum(column) / len(states) for column in zip(*states, strict=True)]
    if normalize:
        length = sum(x * x for x in vector) ** 0.5
        vector = [x / length for x in vector]
    return vector
