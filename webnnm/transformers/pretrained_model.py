"""Hugging Face models that run: their text, config and weights from a folder or a URL."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from webnnm.core.awaiting import require_await, require_await_of_methods
from webnnm.core.errors import DataError
from webnnm.data.files.downloads import Downloads, Progress
from webnnm.model.nnmodel import NNModel
from webnnm.snapshots.name_map import Names, assign_tensors
from webnnm.transformers.architectures import ANY_SIZE, CLASS, write_model
from webnnm.transformers.architectures.model_text import ModelText
from webnnm.transformers.chat_template import load_templates
from webnnm.transformers.ctranslate2_model import ends_of_ctranslate2, tensors_of_ctranslate2
from webnnm.transformers.float16 import compute_in
from webnnm.transformers.generator import Generator
from webnnm.transformers.gguf_model import config_of_gguf, tensors_of_gguf
from webnnm.transformers.gguf_tokenizer import tokenizer_of as tokenizer_of_gguf
from webnnm.transformers.hearing import Features
from webnnm.transformers.hub_model import HubModel
from webnnm.transformers.onnx_names import find_onnx_dtype
from webnnm.transformers.picture_size import set_picture_size, with_picture_size
from webnnm.transformers.picture_tokens import FEATURES
from webnnm.transformers.piper_model import open_piper
from webnnm.transformers.pretrained import (
    OF_DIFFUSERS,
    WEIGHTS,
    Folder,
    folder_of,
    generation_config_of,
    gguf_of,
    load_tokenizer,
    text_reader,
    tokenizer_of,
    weights_of,
)
from webnnm.transformers.tensor_names import publish_names, stack_experts

if TYPE_CHECKING:
    from webnnm.backends.base import Backend
    from webnnm.core.arrays import HostArray
    from webnnm.data.dataset import Dataset
    from webnnm.evaluation.history import History
    from webnnm.model.keywords import CreateSettings, Hyperparameters
    from webnnm.notation.syntax import Document
    from webnnm.ops.declare.features import Features as Shape
    from webnnm.runtime.packed import Memory
    from webnnm.transformers.adapting import Origin
    from webnnm.transformers.any_size import AnySizeForward, WriteText
    from webnnm.transformers.forward import Forward
    from webnnm.transformers.training_pairs import Lengths
    from webnnm.transformers.training_texts import Example

OTHER_MODEL = (
    "config.json has to be that of the weights; architecture= loads another part of a model"
)
MAX_PAGE_TOKENS = 128
"""The tokens that texts in exported pages have at most, if the export does not say."""
LENGTH = 16
"""The sequence length for reviews and profiles if nothing else sets it."""
OF_ROWS = ("E403", "E405", "E608", "E618", "E623")
"""Rules for rows with one class each: texts are few, tokens many, and padding is masked."""


@require_await
async def from_pretrained(
    source: Folder,
    *,
    backend: str | Backend = "auto",
    device: str | None = None,
    architecture: str | None = None,
    pooling: str | None = None,
    image_size: int | Sequence[int] | None = None,
    ignore: Collection[str] = (),
    progress: Progress | None = None,
    keep: bool = False,
    hashes: Mapping[str, str] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    weights: str | None = None,
    block: int = 32,
    references: str | Path | None = None,
    require_tokenizer: bool = False,
    log: Callable[[str], object] = print,
) -> PretrainedModel:
    """Load a Hugging Face model from a folder, a GGUF file, or a URL, as notation.

    >>> import webnnm
    >>> async def scores(folder, ids):
    ...     model = await webnnm.from_pretrained(folder)
    ...     print(model.source)
    ...     return (await model.predict(input_ids=ids))["logits"]

    The folder has a `config.json`, from which the text of the model is generated, and
    `model.safetensors`, or shards and their index; a GGUF file contains all of it. Whisper can also
    be loaded from a CTranslate2 folder with a `model.bin`, and the parts of Stable Diffusion from
    diffusers folders; a voice of Piper is its `.onnx` file, with the `.onnx.json` beside it.
    Instead of a folder, a dict from file names to bytes, paths or URLs can be passed, so that no
    server is asked for files that it lacks. Weights are float32 on the device, whatever they are in
    the files, unless `weights` says otherwise. See `docs/transformers.md` for the architectures.

    - `backend`, `device`, `log`: see `NNModel.create`.
    - `architecture`: the class of the model, such as "BertModel", instead of the config's.
    - `pooling`: "mean" or "cls", for text encoders: adds an output `sentence_embedding`, the mean
      of all tokens or the first token, normalised to length 1.
    - `image_size`: height and width of all pictures, or one number for both, for networks that read
      any size, and otherwise compile a graph for each size that comes.
    - `ignore`: keys of the config whose values are not checked.
    - `progress`: a function called while weights are loaded, with the name of the file, the bytes
      loaded so far, and the total (0 if unknown).
    - `keep`: in pages, the browser keeps the weight files: the next visit does not fetch them
      again, and an interrupted download is resumed. `webnnm.forget_downloads()` removes them.
    - `hashes`: name of a weight file → the SHA-256 that it must have.
    - `dtype`: the type that the model computes in. "float16" halves the memory on devices with
      float16 arithmetic; softmax, normalisations and outputs remain float32, and weights are
      stored as float16 unless `weights` says otherwise. Only for models whose inputs are tokens.
      "fp32", "fp16", "q8", "int8", "uint8", "q4", "q4f16" and "bnb4" open the ONNX files that are
      published for transformers.js instead (docs/onnx.md), or a dict from the names of files to
      these; the model is a `PretrainedOnnxModel`, as it is if a folder has ONNX files only.
    - `weights`: "float16", "int8" or "int4", the type in which matrices are stored, and `block`,
      how many numbers share a scale; see `quantize`.
    - `references`: where an index may find its shards, besides its own folder: "anywhere", or a
      folder or an address.
    - `require_tokenizer`: whether a missing or invalid tokenizer is an error here, before weights
      are loaded, and not only once `model.tokenizer` is used.

    Raises `DataError` NNM817 for an unknown architecture, NNM818 for keys of the config that are
    missing, wrong or not supported, NNM715 for missing files, NNM809 for shards elsewhere, NNM801
    or NNM802 for damaged files and wrong hashes, NNM805 and NNM806 for weights that do not match
    the config, NNM704 for invalid `weights`, `block` or `dtype`, NNM718 for a missing or invalid
    tokenizer that is required. In these cases nothing is loaded.
    """
    how = Downloads(progress=progress, keep=keep, hashes=hashes or {})
    if onnx_dtype := find_onnx_dtype(source, dtype):
        from webnnm.transformers.onnx_opening import open_onnx_folder

        files = source, onnx_dtype, how, references
        return await open_onnx_folder(
            *files,
            backend=backend,
            device=device,
            require_tokenizer=require_tokenizer,
            log=lambda line: _log(log, line),
        )
    compute_dtype = "float16" if dtype == "float16" else "float32"
    voice = await open_piper(source, how)
    if voice is not None:
        source = voice.files
    # Weights and what templates need come from the network at the same time.
    (file, _), binary = await asyncio.gather(gguf_of(source, how), load_templates()), None
    if file is not None:
        config = config_of_gguf(file, ignore)
    else:
        config, binary = await folder_of(source, how)
    more = {"architectures": architecture and [architecture], "pooling": pooling}
    own_config = {**config, **{key: value for key, value in more.items() if value is not None}}
    full_config = await with_picture_size(
        own_config, source, image_size, lambda line: _log(log, line)
    )
    text = write_model(full_config, ignore=ignore)  # fails before anything is fetched
    compute_in(compute_dtype, text.source, text.float16_problem)
    tensors: Mapping[str, Any]
    generation: Mapping[str, Any] = config
    if file is not None:
        read_tokenizer = partial(tokenizer_of_gguf, file.metadata)
    else:
        places = "image_token_id" in config
        tokenizer, template = await tokenizer_of(source, takes_pictures=places)
        if binary is not None:
            config |= ends_of_ctranslate2(tokenizer)
        generation = await generation_config_of(source, config)
        read_tokenizer = await load_tokenizer(generation, tokenizer, template)
    if require_tokenizer:
        read_tokenizer()
    if file is not None:
        tensors = tensors_of_gguf(file, text.prefix)
    else:
        stored = (
            voice.tensors
            if voice is not None
            else await weights_of(
                source, how, OF_DIFFUSERS if CLASS in config else WEIGHTS, references
            )
            if binary is None
            else tensors_of_ctranslate2(binary)
        )
        published = stack_experts(publish_names(stored, text.module_names))
        tensors = {name.removeprefix(text.prefix): tensor for name, tensor in published.items()}
    text = write_model(full_config, ignore=ignore, tensors=tensors)
    if dtype == "float16":
        weights = weights or dtype
    settings = {
        "source": compute_in(compute_dtype, text.source, text.float16_problem),
        "backend": backend,
        "device": device,
        "log": log,
        "sequence_length": LENGTH,
    }
    tensors = {**tensors, **text.constants}
    model = await PretrainedModel.begun(settings, config, tensors, text.names, weights, block)
    model.generation_config, model.read_tokenizer = generation, read_tokenizer
    model.input_rules, model.read_file = text.input_rules, text_reader(source)
    model.origin = partial(_origin, full_config, text.names, text.prefix)
    if image_size is None and config.get("model_type") in ANY_SIZE:
        model.write_sized = partial(_write_sized, own_config, ignore, frozenset(tensors))
    return model


@require_await_of_methods("model")
class PretrainedModel(NNModel, HubModel):
    """A model with the weights of a file; made by `from_pretrained`.

    It is an `NNModel`, which can be trained, saved, exported and reviewed. Attributes: `source`,
    its text; `config`, the contents of `config.json`; `generation_config`, the settings for
    generation, from there or from `generation_config.json`.
    """

    @classmethod
    async def create(
        cls, config: Mapping[str, Any] | None = None, **settings: Unpack[CreateSettings]
    ) -> NoReturn:
        """Raise `DataError` NNM703: `from_pretrained` makes these models."""
        hint = "await webnnm.from_pretrained(folder), or NNModel.create(…) for a text"
        raise DataError("NNM703", "a text alone does not make a PretrainedModel", hint=hint)

    @classmethod
    async def load(cls, snapshot: Any = None, /, **settings: Unpack[CreateSettings]) -> NoReturn:
        """Raise `DataError` NNM703: a snapshot has neither the config nor the tokenizer."""
        hint = (
            "model = await webnnm.from_pretrained(folder), then await model.load_params(snapshot); "
            "or NNModel.load(snapshot), to train it and predict with it"
        )
        message = "a snapshot has neither the config nor the tokenizer of a PretrainedModel"
        raise DataError("NNM703", message, hint=hint)

    @classmethod
    async def begun(
        cls,
        settings: Mapping[str, Any],
        config: Mapping[str, Any],
        tensors: Mapping[str, Any],
        names: Mapping[str, Any],
        weights: str | None = None,
        block: int = 32,
    ) -> Self:
        """Return a model for a text, with parameters initialised from the tensors of a file.

        Everything is checked before memory is allocated; nothing is initialised at random. Matrices
        are packed one by one if `weights` says so.
        """
        model = await cls._opened(settings)
        try:
            assigned = assign_tensors(
                tensors, model.state.parameters.types, names, hint=OTHER_MODEL
            )
            values = {name: tensor.view for name, tensor in assigned.items()}
            if weights is None:
                await model.state.parameters.begin(values.items())
            else:
                from webnnm.runtime.packed import begin_packed

                await begin_packed(model.state, values, weights, block)
            model.state.trained = True
            model.config = model.generation_config = config
            model._log_size()
        except BaseException:
            model.close()
            raise
        return model

    origin: Callable[[], Origin]
    write_sized: WriteText | None = None
    _plain: Document | None = None

    def describe_output(self, name: str) -> Shape:
        """Return the sizes of an output, and whether it has a row for each token (`sequence`)."""
        outputs = self.state.network.outputs
        return next(output.source.features for output in outputs if output.name == name)

    def picture_size(self) -> tuple[int, int] | None:
        """Return the height and width of pictures, None if they can have any."""
        if self._reads_any_size:
            return None
        for vertex in self.state.network.inputs:
            if vertex.block == "pixel_values" and vertex.features[0].sequence is None:
                height, width = vertex.features[0].sizes()[-2:]
                return height, width
        return None

    @property
    def _reads_any_size(self) -> bool:
        """Whether there are graphs for pictures of any size; adapters belong to one text."""
        return self.write_sized is not None and self._plain is None

    @property
    def continues_texts(self) -> bool:
        """Whether the model continues the texts that it reads."""
        has_encoder = self.config.get("is_encoder_decoder")
        return "position_ids" in self.inputs() and not has_encoder

    async def _see(
        self, pictures: Sequence[Sequence[HostArray]], rows: Sequence[Sequence[int]]
    ) -> dict[str, Any]:
        from webnnm.transformers.forward import Forward

        assert isinstance(self._forward, Forward), "models that read any size have no texts"
        return {FEATURES: await self._forward.see(pictures, rows)}

    def _make_generator(self, max_length: int | None) -> Generator:
        return Generator(self, max_length=max_length)

    def _make_features(self) -> Features:
        (vertex,) = (
            candidate
            for candidate in self.state.network.inputs
            if candidate.block == "input_features"
        )
        return Features(self.backend, *vertex.features[0].sizes())

    def memory(self) -> Memory:
        """Return what the model has allocated, by purpose, and how its parameters are stored.

        CPU backends hold packed matrices as float32 rather than unpack them in every run; then
        `kinds["parameters"]` of the device is more than `stored`.
        """
        from webnnm.runtime.packed import memory

        return memory(self.state)

    async def perplexity(
        self, text: str | Sequence[int], *, length: int | None = None, stride: int | None = None
    ) -> float:
        """Return the perplexity of a text.

        >>> async def compared(model, text):
        ...     before = await model.perplexity(text)
        ...     await webnnm.quantize(model, "int8")
        ...     return await model.perplexity(text) / before

        It is exp(mean negative log-likelihood) of the tokens after the first. The text, or its
        tokens, is read in windows (see https://huggingface.co/docs/transformers/perplexity): each
        scores the tokens that the one before did not have.

        - `length`: tokens per window; by default 512, or as many as the model has positions for.
        - `stride`: tokens from window to window, by default half of `length`. Smaller strides give
          tokens more context, and take longer.

        Raises `DataError` NNM717 if the model does not continue texts, NNM711 for a text of fewer
        than two tokens, NNM704 for numbers out of range.
        """
        from webnnm.transformers.perplexity import perplexity

        return perplexity(await self.log_probabilities(text, length=length, stride=stride))

    async def log_probabilities(
        self,
        text: str | Sequence[int],
        *,
        prompt: str | Sequence[int] = (),
        length: int | None = None,
        stride: int | None = None,
    ) -> list[float]:
        """Return the logarithm of the probability of each token of a text, given those before it.

        >>> async def choose(model, question, answers):
        ...     scores = [sum(await model.log_probabilities(a, prompt=question)) for a in answers]
        ...     return answers[scores.index(max(scores))]

        The first token of a text without a prompt has no probability.

        - `text`, `prompt`: texts or their tokens; those of the prompt are not counted.
        - `length`, `stride`: those of `perplexity`.

        Raises what `perplexity` raises.
        """
        from webnnm.transformers.perplexity import log_probabilities

        before = self.tokenizer.encode(prompt) if isinstance(prompt, str) else [*prompt]
        if isinstance(text, str):
            encode = self.tokenizer.encode_rendered if before else self.tokenizer.encode
            text = encode(text)
        tokens = [*before, *text]
        logs = await log_probabilities(self.state, tokens, length, stride, self.max_length)
        return logs[max(0, len(before) - 1) :]

    def texts(
        self,
        texts: Sequence[Example],
        *,
        length: Lengths = None,
        packing: bool = False,
        held_back: float = 0.0,
        batch_size: int = 4,
        seed: int = 0,
    ) -> Dataset:
        """Return a dataset of texts for next-token prediction.

        >>> async def rehearsed(model, texts):
        ...     model.set_dataset(model.texts(texts, length=64, held_back=0.1))
        ...     return await model.train(epochs=3, lr=1e-4)

        - `texts`: strings, to which the end-of-text token is appended; lists of tokens, used as
          they are; or tuples of a prompt and its completion, of which only the completion is
          learnt. For models with an encoder, such as T5 and BART: tuples of a source and its
          target.
        - `length`: the maximum number of tokens per row, by default that of the longest text.
          Shorter rows are padded, and padding counts neither in attention nor in the loss. It
          applies to sources and targets alike, or is a tuple of both.
        - `packing`: whether a row holds as many texts as fit, instead of padding. Texts do not
          attend to each other, and the positions of each begin at 0.
        - `held_back`: the share of the texts in the subset "validation"; with packing, of the
          rows.

        The loss of a text is that of `transformers` with `labels`: the mean over all tokens that
        count. Raises `DataError` NNM717 for models that do not continue texts, NNM711 for texts too
        short to learn from, NNM714 if a model with an encoder is given anything but pairs, NNM704
        for options out of range and for packing if the model cannot keep texts apart.
        """
        from webnnm.transformers.training_texts import texts_dataset

        return texts_dataset(
            self.state.network,
            {**self.generation_config, **{k: v for k, v in self.config.items() if v is not None}},
            self.input_rules,
            lambda text: self.tokenizer.encode(text),
            texts,
            length=length,
            packing=packing,
            split=(1 - held_back, held_back, 0),
            batch_size=batch_size,
            seed=seed,
        )

    async def train_on(
        self,
        texts: Sequence[Example],
        *,
        length: Lengths = None,
        packing: bool = False,
        held_back: float = 0.0,
        **hyperparameters: Unpack[Hyperparameters],
    ) -> History:
        """Train the model, or only its adapters, on texts; see `texts` and `train`.

        >>> async def taught(model, letters):
        ...     await model.add_lora(rank=8)
        ...     history = await model.train_on(letters, held_back=0.1, epochs=5)
        ...     return history.epochs[-1].val_loss

        By default, `lr` is 1e-3 for adapters and 1e-4 for whole models, `weight_decay` is 0.01, and
        there is no regularisation.
        """
        self.set_dataset(self.texts(texts, length=length, packing=packing, held_back=held_back))
        usual: dict[str, Any] = {
            "lr": 1e-4 if self._plain is None else 1e-3,
            "weight_decay": 0.01,
            "regularization": "off",
            "silence": OF_ROWS,
        }
        return await self.train({**usual, **hyperparameters})

    async def add_lora(
        self,
        targets: str | Iterable[str] = "attend",
        *,
        rank: int = 8,
        alpha: float = 16,
        dropout: float = 0.0,
    ) -> list[str]:
        """Add low-rank adapters and freeze everything else; return the names of the matrices.

        >>> async def taught(model, texts):
        ...     await model.add_lora(rank=8)
        ...     await model.train_on(texts, epochs=3)
        ...     await model.save_lora("my-style")

        (alpha / rank)·A·B is added to each matrix W, as `model.source` shows. B starts with zeros,
        so that nothing changes at first; only the adapters are trained from now on (E. Hu et al.,
        arXiv:2106.09685).

        - `targets`: "attend", the projections of all attention, or names of matrices and patterns
          such as "up*" or "wq*".
        - `rank`: the number of columns of A; `alpha`: the scale of the product.
        - `dropout`: the share of the input of A that is dropped out in training.

        Raises `DataError` NNM710 for targets that match nothing, NNM704 for numbers out of range
        and if the model already has adapters, NNM712 during training.
        """
        from webnnm.transformers.adapting import add_lora

        plain = self.state.network.outline.document
        names = await add_lora(self.state, targets, rank=rank, alpha=alpha, dropout=dropout)
        self._reset(plain)
        return names

    async def save_lora(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Save the adapter in the format of `peft`; return the path, or the bytes without a path.

        A path is a folder, for `adapter_model.safetensors` and `adapter_config.json`. Bytes, and
        "browser:name" and "download:name" in pages, are the first file only, which has the config
        in its metadata.

        Raises `DataError` NNM710 if the model has no adapter, NNM807 if it cannot be written.
        """
        from webnnm.transformers.adapting import save_lora

        return await save_lora(self.state, self.origin(), path)

    async def load_lora(self, source: Any) -> list[str]:
        """Add an adapter that `peft` or `save_lora` wrote; return the names of its matrices.

        `source` is a folder, its URL, a file that contains the config, or the bytes of one.

        Raises `DataError` NNM715 for missing files, NNM801 or NNM802 for damaged files, NNM805 and
        NNM806 for an adapter of another model, NNM818 for kinds of adapters that are not supported,
        NNM704 if the model already has one. In these cases nothing changes.
        """
        from webnnm.transformers.adapting import load_lora

        plain = self.state.network.outline.document
        names = await load_lora(self.state, self.origin(), source)
        self._reset(plain)
        return names

    async def merge_lora(self) -> list[str]:
        """Merge the adapters into their matrices: outputs stay the same, the text is the original.

        Returns the names of the matrices. Raises `DataError` NNM710 if there is no adapter,
        NNM704 for matrices that are not float32, NNM712 during training.
        """
        from webnnm.transformers.adapting import merge_lora

        names = await merge_lora(self.state, self._before())
        self._reset(None)
        return names

    async def remove_lora(self) -> None:
        """Remove the adapters, which restores the model as it was before.

        Raises `DataError` NNM710 if there is no adapter, NNM712 during training.
        """
        from webnnm.runtime.refit import refit

        await refit(self.state, self._before())
        self._reset(None)

    def _before(self) -> Document:
        """Return the text before adapters were added."""
        if self._plain is None:
            raise DataError("NNM710", "the model has no adapter", hint="await model.add_lora()")
        return self._plain

    def _reset(self, plain: Document | None) -> None:
        """Drop what was made for the previous text."""
        self._plain = plain
        self._forget_network()

    def _forget_network(self) -> None:
        self._forget()
        super()._forget_network()

    def _forget(self) -> None:
        """Free what is compiled for `predict` and `generate`."""
        if self._transcribing is not None:
            self._transcribing.stop()
        for name in ("_forward", "_generator", "_features"):
            if used := vars(self).pop(name, None):
                used.close()

    @cached_property
    def _forward(self) -> Forward | AnySizeForward:
        settings = self.state, self.config, self.input_rules
        if self.write_sized is not None and self._reads_any_size:
            from webnnm.transformers.any_size import AnySizeForward

            return AnySizeForward(*settings, self.write_sized)
        from webnnm.transformers.forward import Forward

        return Forward(*settings)

    async def predict(
        self, data: Any = None, batch_size: int | None = None, *, raw: bool = False, **inputs: Any
    ) -> Any:
        """Return the outputs by name, for inputs named as in Hugging Face.

        >>> async def scores(model):
        ...     ids, mask = [[5, 8, 2], [7, 1, 0]], [[1, 1, 1], [1, 1, 0]]
        ...     return (await model.predict(input_ids=ids, attention_mask=mask))["logits"]

        `input_ids` has the shape `[batch, tokens]`, as do `attention_mask` (1 for tokens, 0 for
        padding, on either side; by default all 1), `position_ids` (0, 1, 2, …; M2M100 and OPT count
        only tokens that are not padding) and `token_type_ids` (0). `model.inputs()` and
        `model.outputs()` list the inputs and outputs of a model. A graph is compiled first if the
        sizes are new. For CLIP, the inputs of one tower are enough; the numbers of texts and
        pictures can differ.

        Instead of arguments, `data` can be a dict of inputs by name. Other `data` are rows in the
        form of the dataset of the model: see `NNModel.predict`, also for `batch_size` and `raw`.

        Raises `DataError` NNM710 for wrong names, NNM702 for shapes that do not fit, NNM711 for
        tokens outside the vocabulary, and for more tokens than the model has positions.
        """
        if isinstance(data, Mapping) or data is None:
            return await self._forward.outputs({**(data or {}), **inputs})
        return await super().predict(data, batch_size, raw=raw)

    async def export(
        self, path: Any = None, graph: str = "inference", *settings: Any, **options: Any
    ) -> Any:
        """Write the model for other programs; see `NNModel.export`.

        A page (`format="page"`) takes texts, if the model has a tokenizer of `tokenizer.json`, of
        up to 128 tokens unless `sequence` says otherwise.
        """
        if options.get("format") == "page":
            from webnnm.transformers.page_rows import describe_page_rows

            tokens = self.inputs(), self.input_rules, self.read_tokenizer
            rows = describe_page_rows(*tokens, self.state.log)
            options["rows"] = rows | (options.get("rows") or {})
            if not settings:
                options.setdefault(
                    "sequence", min(MAX_PAGE_TOKENS, self.max_length or MAX_PAGE_TOKENS)
                )
        return await super().export(path, graph, *settings, **options)

    async def get_text_features(self, **inputs: Any) -> Any:
        """Return the text embeddings of CLIP, `[texts, size]`; inputs are those of `predict`.

        >>> async def features(model):
        ...     return await model.get_text_features(input_ids=[[5, 8, 2], [7, 2, 2]])

        `predict` returns them normalised to length 1, as `text_embeds`. Raises `DataError` NNM710
        if the model has no such output, and what `predict` raises.
        """
        return await self._forward.output("text_features", inputs)

    async def get_image_features(self, **inputs: Any) -> Any:
        """Return the image embeddings of CLIP, `[pictures, size]`; the input is `pixel_values`.

        >>> async def features(model, pixels):
        ...     return await model.get_image_features(pixel_values=pixels)

        `predict` returns them normalised to length 1, as `image_embeds`. Raises what
        `get_text_features` raises.
        """
        return await self._forward.output("image_features", inputs)

    def close(self) -> None:
        """Free all device memory of the model."""
        self._forget()
        super().close()


def _origin(config: Mapping[str, Any], names: Names, prefix: str) -> Origin:
    from webnnm.transformers.adapting import origin_of

    return origin_of(config, names, prefix)


def _write_sized(
    config: Mapping[str, Any],
    ignore: Collection[str],
    tensors: Collection[str],
    size: Sequence[int],
) -> ModelText:
    """Return the text of a model for pictures of a height and a width."""
    return write_model(set_picture_size(config, size), ignore=ignore, tensors=tensors)


def _log(log: Callable[[str], object], line: str) -> None:
    log(line)
