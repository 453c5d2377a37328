"""Hugging Face models whose network is an ONNX file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, Self

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError
from webnnm.formats.onnx.onnx_model import OnnxModel
from webnnm.formats.onnx.part import weights_of
from webnnm.formats.onnx.work import onnx_seconds_on_numpy
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.ops.declare.features import Changes
from webnnm.ops.declare.features import Features as Shape
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.generator import Generator
from webnnm.transformers.hearing import Features
from webnnm.transformers.hub_model import HubModel
from webnnm.transformers.inputs import check_inputs, read_inputs
from webnnm.transformers.onnx_files import DECODER, FOLLOWER, OnnxFile, OnnxFiles
from webnnm.transformers.onnx_inputs import (
    HIDDEN,
    HIDDEN_MASK,
    SEQUENCE,
    TEXT_INPUTS,
    make_vertex,
    sound_sizes,
    source_vertices,
)
from webnnm.transformers.onnx_language import OnnxLanguage
from webnnm.transformers.onnx_states import (
    BRANCH,
    LOGITS_KEPT,
    State,
    choose_branch,
    find_states,
)

INTERNAL = (BRANCH, LOGITS_KEPT, HIDDEN, HIDDEN_MASK)
"""Inputs that are computed, or the same in every run."""


class OnnxWeights:
    """The weights of ONNX files on a backend, by the prefix of a file and their names."""

    version = 1

    def __init__(self, tensors: Mapping[str, DeviceTensor]) -> None:
        self._tensors = tensors

    @classmethod
    async def upload(cls, backend: Backend, files: Mapping[str, OnnxFile]) -> Self:
        """Return the weights of some files, copied to a backend."""
        arrays = {
            prefix + name: array
            for prefix, file in files.items()
            for name, array in weights_of(file.model, file.external).items()
        }
        shared = _find_shared(arrays)
        own = {name: array for name, array in arrays.items() if name not in shared}
        types = {name: TensorType(array.dtype, array.shape) for name, array in own.items()}
        tensors = await backend.tensors(types, own)
        backend.claim("parameters", *tensors.values())
        return cls({name: tensors[shared.get(name, name)] for name in arrays})

    def readable(self) -> Mapping[str, DeviceTensor]:
        """Return the tensors by name."""
        return self._tensors


def _find_shared(arrays: Mapping[str, HostArray]) -> dict[str, str]:
    """Return the weights of the file for further tokens that the decoder's file has as well."""

    def identify(array: HostArray) -> tuple[object, ...]:
        return array.dtype, array.shape, sha256(memoryview(array.data).cast("B")).digest()

    names = [name.removeprefix(FOLLOWER) for name in arrays if name.startswith(FOLLOWER)]
    pairs = {FOLLOWER + name: DECODER + name for name in names}
    return {
        name: other
        for name, other in pairs.items()
        if other in arrays and identify(arrays[name]) == identify(arrays[other])
    }


@require_await_of_methods("model")
class PretrainedOnnxModel(HubModel):
    """A model of Hugging Face whose network is an ONNX file; made by `from_pretrained`.

    It predicts and generates as a `PretrainedModel` does, and has no text. Attributes: `config`,
    the contents of `config.json`; `generation_config`, the settings for generation; `backend`.
    """

    def __init__(self, files: OnnxFiles, config: Mapping[str, Any], backend: Backend) -> None:
        self.config = self.generation_config = config
        self.backend = backend
        self._files = files
        self._weights: OnnxWeights | None = None

    @classmethod
    async def open(
        cls,
        files: OnnxFiles,
        config: Mapping[str, Any],
        backend: str | Backend,
        device: str | None,
        log: Callable[[str], None],
    ) -> Self:
        """Return a model on a backend, with its weights if it generates texts."""
        from webnnm.backends.selection import backend as open_backend
        from webnnm.backends.shared import share_backend

        if isinstance(backend, Backend):
            opened: Backend = share_backend(backend, device=device)
        else:
            work = partial(onnx_seconds_on_numpy, files.model.model)
            opened = await open_backend(backend, device=device, log=log, work=work)
        model = cls(files, config, opened)
        try:
            if model.generates:
                model._weights = await OnnxWeights.upload(opened, files.by_prefix)
        except BaseException:
            model.close()
            raise
        return model

    @property
    def name(self) -> str:
        """The name of the model's class."""
        return str((self.config.get("architectures") or ["model"])[0])

    @property
    def generates(self) -> bool:
        """Whether the model writes texts."""
        causal = self.name.endswith(("ForCausalLM", "LMHeadModel"))
        return self._files.encoder is not None or causal or bool(self._states)

    @property
    def continues_texts(self) -> bool:
        """Whether the model continues the texts that it reads."""
        return self.generates and self._files.encoder is None

    @cached_property
    def _states(self) -> list[State]:
        return find_states(self._files.model)

    @cached_property
    def _vertices(self) -> dict[str, InputVertex]:
        """The inputs that take tokens, by the names that they have here."""
        files, vertices = self._files, list[InputVertex]()
        if files.encoder is not None:
            vertices += source_vertices(files.encoder, self.config)
        decoder = "" if files.encoder is None else "decoder_"
        for name, info in files.model.inputs.items():
            if name in TEXT_INPUTS:
                vertices.append(make_vertex(decoder + name, info, SEQUENCE))
        return {vertex.block: vertex for vertex in vertices}

    def inputs(self) -> list[str]:
        """Return the names of the inputs."""
        internal = {*INTERNAL, *(state.past for state in self._states)}
        if self._files.encoder is not None:
            internal |= TEXT_INPUTS
        others = self._files.model.inputs.keys() - internal - self._vertices.keys()
        return [*self._vertices, *(name for name in self._files.model.inputs if name in others)]

    def outputs(self) -> list[str]:
        """Return the names of the outputs."""
        states = {state.present for state in self._states}
        return [name for name in self._files.model.outputs if name not in states]

    def describe_output(self, name: str) -> Shape:
        """Return the sizes of an output, and whether it has a row for each token (`sequence`)."""
        _, *sizes = self._files.model.outputs[name].shape or (None,)
        along = None
        if len(sizes) > 1 or (name != "logits" and sizes and not isinstance(sizes[0], int)):
            along = SEQUENCE
        dims = [size if isinstance(size, int) else None for size in (sizes[1:] if along else sizes)]
        if name == "logits" and dims == [None]:
            labels = self.config.get("id2label") or {}
            dims = [self.config.get("vocab_size") if self._has_vocabulary else len(labels)]
        return Shape(Changes(), dims, sequence=along)

    def picture_size(self) -> tuple[int, int] | None:
        """Return the height and width of pictures, None if they can have any."""
        info = self._files.model.inputs.get("pixel_values")
        if info is None or info.shape is None or len(info.shape) != 4:
            return None
        _, _, height, width = info.shape
        return (height, width) if isinstance(height, int) and isinstance(width, int) else None

    @property
    def _has_vocabulary(self) -> bool:
        """Whether the model gives scores of tokens."""
        return self.generates or self.name.endswith("ForMaskedLM")

    async def predict(self, data: Mapping[str, Any] | None = None, **inputs: Any) -> Any:
        """Return the outputs by name, for inputs named as in Hugging Face.

        >>> async def scores(model):
        ...     ids, mask = [[5, 8, 2], [7, 1, 0]], [[1, 1, 1], [1, 1, 0]]
        ...     return (await model.predict(input_ids=ids, attention_mask=mask))["logits"]

        Inputs, and what is taken for those that are left out, are as in `PretrainedModel.predict`;
        a model with an encoder also takes `decoder_input_ids`.

        Raises `DataError` NNM710 for wrong names, NNM702 for shapes that do not fit, NNM711 for
        tokens outside the vocabulary.
        """
        values = {name: x for name, x in {**(data or {}), **inputs}.items() if x is not None}
        names = self.inputs()
        check_inputs(values, names)
        vertices = [*self._vertices.values()]
        own = {name: x for name, x in values.items() if name in self._vertices}
        feeds: dict[str, Any] = {}
        if vertices:
            feeds |= read_inputs(self.config, own, vertices, self.input_rules)
        feeds |= {name: x for name, x in values.items() if name not in self._vertices}
        results = await (self._answer(feeds) if self._files.encoder else self._run(feeds))
        return {name: results[name] for name in self.outputs()}

    async def _answer(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the outputs of a decoder that reads what the encoder has read."""
        assert self._files.encoder is not None
        read = {name: feeds[name] for name in self._files.encoder.inputs}
        hidden = next(iter((await self._encoder.predict(read)).values()))
        own: dict[str, Any] = {HIDDEN: hidden}
        if HIDDEN_MASK in self._files.model.inputs:
            own[HIDDEN_MASK] = feeds["attention_mask"]
        for name in TEXT_INPUTS & self._files.model.inputs.keys():
            own[name] = feeds["decoder_" + name]
        return await self._run(own)

    async def _run(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the outputs of the model's file, without a past."""
        batch = len(HostArray.of(next(iter(feeds.values()))))
        pasts: dict[str, HostArray] = {}
        for state in self._states:
            type = TensorType(state.dtype, state.shape(batch, 0))
            pasts[state.past] = HostArray(*type, bytes(type.nbytes))
        return await self._model.predict({**feeds, **pasts})

    @cached_property
    def _model(self) -> OnnxModel:
        return self._open(choose_branch(self._files.model, has_past=False))

    @cached_property
    def _encoder(self) -> OnnxModel:
        assert self._files.encoder is not None
        return self._open(self._files.encoder)

    def _open(self, file: OnnxFile) -> OnnxModel:
        from webnnm.backends.shared import share_backend

        return OnnxModel(file.model, {}, share_backend(self.backend), file.external)

    def _make_generator(self, max_length: int | None) -> Generator:
        if self._weights is None:
            raise DataError(
                "NNM717",
                f"the model does not generate texts: its outputs are {', '.join(self.outputs())}",
                hint="use predict",
            )
        language = OnnxLanguage(self._files, self.config)
        return Generator.of(language, self.backend, self._weights, max_length)

    def _make_features(self) -> Features:
        return Features(self.backend, *sound_sizes(self.config))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free all device memory of the model; a backend that was passed in stays open."""
        if self._transcribing is not None:
            self._transcribing.stop()
        for name in ("_model", "_encoder", "_generator", "_features"):
            if used := vars(self).pop(name, None):
                used.close()
        if self._weights is not None:
            self.backend.release(*self._weights.readable().values())
            self._weights = None
        self.backend.close()

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.inputs()), ", ".join(self.outputs())
        return f"<{self.name} in ONNX: {inputs} -> {outputs}>"
