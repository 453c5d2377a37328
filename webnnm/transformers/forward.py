"""The outputs of a Hugging Face model for inputs, by their names there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.lru_cache import LruCache
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.inference.context import InferenceContext
from webnnm.runtime.parameters import ReadableParameters
from webnnm.runtime.state import ModelState
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.choices import split_choices
from webnnm.transformers.inputs import check_inputs, read_inputs
from webnnm.transformers.picture_tokens import FEATURES as FEATURES_OF_PICTURES
from webnnm.transformers.picture_tokens import (
    STATES,
    SeenPictures,
    check_places,
    split_pictures,
    takes_pictures,
)
from webnnm.transformers.prompts import prompts, takes_prompts
from webnnm.transformers.towers import FEATURES, Comparison, find_comparison, towers

MOST_COMPILED = 4
"""How many graphs of different sizes are kept for each tower; beyond that, the least recently used
is dropped."""


class Forward:
    """Compiles graphs for the numbers of rows and tokens it is given, and keeps the latest.

    Towers, parts of the network that share no input, run separately. `network` and `parameters` are
    those of the model unless others are given.
    """

    def __init__(
        self,
        state: ModelState,
        config: Mapping[str, Any],
        rules: InputRules,
        network: Network | None = None,
        parameters: ReadableParameters | None = None,
    ) -> None:
        self._state, self._config, self._rules = state, config, rules
        self._network = network or state.network
        self._parameters = parameters or state.parameters
        self._turn = asyncio.Lock()

    @cached_property
    def _towers(self) -> list[Network]:
        return towers(self._network)

    @cached_property
    def _contexts(self) -> LruCache[Any, InferenceContext]:
        return LruCache(MOST_COMPILED * len(self._towers), InferenceContext.close)

    @cached_property
    def _comparison(self) -> Comparison:
        return Comparison(self._state.backend)

    async def outputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs by name. Raises what `PretrainedModel.predict` raises."""
        vertices = self._network.inputs
        if takes_prompts(vertices):
            requested = prompts(inputs, vertices)
            results = requested.results(await self._compute(requested.inputs))
        elif self._rules.has_choices:
            choices = split_choices({n: value for n, value in inputs.items() if value is not None})
            results = choices.results(await self._compute(choices.inputs))
        elif takes_pictures([vertex.block for vertex in vertices]) and "input_ids" in inputs:
            results = await self._compute(await self._place_pictures(inputs))
        else:
            results = await self._compute(inputs)
        if find_comparison(results.keys()) is not None:
            async with self._turn:
                results |= await self._comparison.of(results)
        public = results if len(self._towers) == 1 else results.keys() - FEATURES
        return {name: array.public() for name, array in results.items() if name in public}

    @cached_property
    def pictures(self) -> SeenPictures:
        """What the model sees in the pictures of texts."""
        vertex = next(
            one for one in self._state.network.inputs if one.block == FEATURES_OF_PICTURES
        )
        return SeenPictures(self._see, *vertex.features[0].sizes())

    async def _see(self, picture: HostArray) -> HostArray:
        return (await self._compute({"pixel_values": picture}))[STATES]

    async def _place_pictures(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of texts with pictures: their features in place of their pixels."""
        values = dict(inputs)
        ids = HostArray.of(values["input_ids"], "int32")
        pixels = values.pop("pixel_values", None)
        rows = [[]] * len(ids) if pixels is None else split_pictures(pixels)
        return values | {FEATURES_OF_PICTURES: await self.see(rows, ids.tolist())}

    async def see(
        self, pictures: Sequence[Sequence[HostArray]], rows: Sequence[Sequence[int]]
    ) -> HostArray:
        """Return the features of the pictures of each text, whose tokens are rows.

        Raises `DataError` NNM702 if there are more or fewer places than pictures need.
        """
        if len(pictures) != len(rows):
            raise DataError("NNM702", f"{len(rows)} texts, and pictures of {len(pictures)}")
        states = next(one for one in self._state.network.outputs if one.name == STATES)
        places = states.source.features.sizes()[0]
        check_places(self._config, rows, [*map(len, pictures)], places)
        return await self.pictures.features(pictures, self._state.parameters.version)

    async def output(self, name: str, inputs: Mapping[str, Any]) -> Any:
        """Return one output. Raises `DataError` NNM710 if no output has that name."""
        parts = [part for part in self._towers if name in [result.name for result in part.outputs]]
        if not parts:
            names = ", ".join(output.name for output in self._network.outputs)
            message = f'the model has no output "{name}": it has {names}'
            raise DataError("NNM710", message, hint="only models of the class CLIPModel have it")
        results = await self._compute(inputs)
        if name not in results:
            read_inputs(self._config, {}, parts[0].inputs, self._rules)  # says what is needed
        return results[name].public()

    async def _compute(self, inputs: Mapping[str, Any]) -> dict[str, HostArray]:
        """Return the outputs of all towers that have an input."""
        values = {name: value for name, value in inputs.items() if value is not None}
        check_inputs(values, [vertex.block for vertex in self._network.inputs])
        parts = [t for t in self._towers if any(v.block in values for v in t.inputs)]
        results: dict[str, HostArray] = {}
        for part in parts or self._towers:
            blocks = [vertex.block for vertex in part.inputs]
            values_of_part = {name: value for name, value in values.items() if name in blocks}
            arrays = read_inputs(self._config, values_of_part, part.inputs, self._rules)
            async with self._turn:
                results |= await self._context(part, arrays).compute(arrays)
        return results

    def _context(self, part: Network, arrays: Mapping[str, HostArray]) -> InferenceContext:
        """Return the context for a batch and its lengths, compiled on first use."""
        batch, lengths = 0, dict[str, int]()
        for vertex in part.inputs:
            shape = arrays[vertex.block].shape
            batch = shape[0]
            if (sequence := vertex.features[0].sequence) is not None:
                lengths[sequence] = shape[1]
        key = part.outputs[0].name, batch, *lengths.items()
        context = self._contexts.get(key)
        if context is None:
            state = self._state
            context = self._contexts[key] = InferenceContext(
                part,
                state.backend,
                self._parameters,
                state.standardizations,
                batch_size=batch,
                sequence={**state.sequence, **lengths},
                seed=state.seed,
            )
        return context

    def close(self) -> None:
        """Free its memory on the device."""
        self._contexts.clear()
        self._comparison.close()
