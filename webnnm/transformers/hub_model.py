"""What models of the hub have in common, whatever computes them: texts in, texts out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.architectures.rotary_rates import longest
from webnnm.transformers.beginning import begin_rows, choice_settings, last_token, pad_with_mask
from webnnm.transformers.chat_template import Message, conversation
from webnnm.transformers.config import is_donut
from webnnm.transformers.generator import Choose, Generator, Speed
from webnnm.transformers.hearing import Features, Stream
from webnnm.transformers.inputs import read_inputs
from webnnm.transformers.picture_tokens import STATES, split_pictures, takes_pictures
from webnnm.transformers.speech_tokens import SpeechTokens
from webnnm.transformers.texts import (
    Prompt,
    Writing,
    align_rows,
    continue_rows,
    end_tokens,
    is_single,
    read_ends,
    read_masked_rows,
    read_rows,
)
from webnnm.transformers.tokenizer import Tokenizer
from webnnm.transformers.transcription import TEMPERATURES, Transcribing, TranscriptionThresholds

if TYPE_CHECKING:
    from webnnm.backends.base import Backend
    from webnnm.ops.declare.features import Features as Shape
    from webnnm.transformers.picture_prompts import PicturePrompt
    from webnnm.transformers.structured.allowed_tokens import AllowedTokens
    from webnnm.transformers.structured.output import StructuredOutput


@require_await_of_methods("model")
class HubModel(ABC):
    """A model of Hugging Face with its config and tokenizer; `from_pretrained` opens it.

    Attributes: `config`, the contents of `config.json`; `generation_config`, the settings for
    generation, from there or from `generation_config.json`; `backend`.
    """

    config: Mapping[str, Any]
    generation_config: Mapping[str, Any]
    backend: Backend
    read_tokenizer: Callable[[], Tokenizer]
    read_file: Callable[[str], Awaitable[str]]
    input_rules: InputRules = InputRules()
    _transcribing: Transcribing | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the model."""

    @abstractmethod
    def inputs(self) -> list[str]:
        """Return the names of the inputs."""

    @abstractmethod
    def outputs(self) -> list[str]:
        """Return the names of the outputs."""

    @abstractmethod
    def describe_output(self, name: str) -> Shape:
        """Return the sizes of an output, and whether it has a row for each token (`sequence`)."""

    def picture_size(self) -> tuple[int, int] | None:
        """Return the height and width of pictures, None if they can have any."""
        return None

    @abstractmethod
    async def predict(self, data: Any = None, **inputs: Any) -> Any:
        """Return the outputs by name, for inputs by name."""

    @abstractmethod
    def close(self) -> None:
        """Free all device memory of the model."""

    @property
    @abstractmethod
    def continues_texts(self) -> bool:
        """Whether the model continues the texts that it reads."""

    @abstractmethod
    def _make_generator(self, max_length: int | None) -> Generator:
        """Return what continues texts of at most a length. Raises `DataError` NNM717."""

    @abstractmethod
    def _make_features(self) -> Features:
        """Return what turns sound into the input of a Whisper."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer: `encode` turns text into tokens, `decode` turns tokens into text.

        Raises `DataError` NNM718 if the files have no tokenizer that this package reads,
        `BackendError` NNM709 if a package for it is missing.
        """
        return self.read_tokenizer()

    @property
    def max_length(self) -> int | None:
        """The maximum number of tokens of a text, None if its config names none."""
        if limit := longest(self.config):
            return limit[1]
        if self.input_rules.max_tokens:
            return self.input_rules.max_tokens
        return self.config.get("max_position_embeddings", self.config.get("n_positions"))

    @cached_property
    def _generator(self) -> Generator:
        # Only its tables limit the positions of a model with an encoder.
        has_encoder = self.config.get("is_encoder_decoder")
        return self._make_generator(None if has_encoder else self.max_length)

    @cached_property
    def _features(self) -> Features:
        return self._make_features()

    def generate(
        self,
        prompt: Prompt,
        *,
        images: Sequence[Any] | None = None,
        max_new_tokens: int = 256,
        min_new_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        no_repeat_ngram_size: int | None = None,
        encoder_no_repeat_ngram_size: int | None = None,
        suppress_tokens: Sequence[int] | None = None,
        num_beams: int = 1,
        length_penalty: float = 1.0,
        early_stopping: bool | Literal["never"] = False,
        num_return_sequences: int = 1,
        forced_bos_token_id: int | None = None,
        eos_token_id: int | Sequence[int] | None = None,
        stop: str | Sequence[str] = (),
        choices: Sequence[str] | None = None,
        regex: str | None = None,
        json_schema: Mapping[str, Any] | str | bool | None = None,
        context: int | None = None,
        sinks: int | None = None,
        seed: int = 0,
        choose: Choose | None = None,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        chat_template: str | None = None,
        template_variables: Mapping[str, Any] | None = None,
    ) -> Writing:
        """Generate the continuation of a text: iterate over the pieces, or await the whole.

        >>> async def tell(model):
        ...     async for piece in model.generate("Once upon", max_new_tokens=50, temperature=0.8):
        ...         print(piece, end="")
        ...     messages = [{"role": "user", "content": "What is the capital of France?"}]
        ...     return await model.generate(messages)

        A prompt is a text, the messages of a conversation, or several texts, whose pieces come as
        lists. If a prompt begins with the last prompt and its answer, such as the next turn of a
        conversation, only the new part is computed. Models with an encoder, such as T5 and BART,
        encode the prompt and generate the answer. Models of pictures in texts, such as SmolVLM,
        take messages whose content is a list with pictures, or a text.

        - `images`: the pictures of a text, each where it has `<image>`.
        - `max_new_tokens`: the text ends there, or where the model ends it, but not before
          `min_new_tokens`.
        - `temperature`, `top_k`, `top_p`, `min_p`, `repetition_penalty`: how tokens are sampled,
          see docs/generation.md; without a temperature the most likely token is chosen.
        - `no_repeat_ngram_size`: no sequence of this many tokens occurs twice, prompt included.
        - `encoder_no_repeat_ngram_size`: no sequence of this many tokens of the prompt is written;
          0 switches off that of the config.
        - `suppress_tokens`: tokens that are never chosen, instead of those of the config.
        - `num_beams`: the number of beams of a beam search, whose best text is returned in one
          piece; `length_penalty` and `early_stopping` are those of `transformers`.
        - `num_return_sequences`: how many texts each prompt has: as many samples, or the best texts
          of a beam search. If there are several, the result is a list, with those of a prompt one
          after the other.
        - `forced_bos_token_id`: the first token of a model with an encoder, such as a language.
        - `eos_token_id`: the token, or tokens, that end the text, besides those of the model.
        - `stop`: strings before which the text ends.
        - `choices`, `regex`, `json_schema`: structured output, one of these: the text is one of
          the choices, matches a regular expression, or is JSON that fits a schema (`True` for any
          JSON). It is complete within `max_new_tokens`.
        - `context`, `sinks`: for texts longer than the model has positions for, or than `context`:
          whenever a text is so long, its older half is dropped, but for as many first tokens as
          `sinks` says.
        - `seed`: the seed of the sampling; the same seed gives the same text.
        - `choose`: a function that chooses the tokens instead, given the scores `[batch,
          vocabulary]` and the tokens so far.
        - `tools`, `documents`, `chat_template`, `template_variables`: for messages, see
          `apply_chat_template`.

        Raises `DataError` NNM717 if the model does not generate text, NNM718 if its chat template
        or tokenizer cannot be used, NNM722 if the template refuses the messages, NNM711 for a
        prompt that is too long, NNM704 for values out of range, and for a `max_new_tokens` in which
        no structured text fits.
        """
        settings = choice_settings(
            self.generation_config,
            self._generator.language.vocabulary,
            num_return_sequences=num_return_sequences,
            more_ends=read_ends(eos_token_id),
            num_beams=num_beams,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
            seed=seed,
            choose=choose,
            allowed=self._find_allowed_tokens(choices, regex, json_schema),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            no_repeat_ngram_size=no_repeat_ngram_size,
            encoder_no_repeat_ngram_size=encoder_no_repeat_ngram_size,
            min_new_tokens=min_new_tokens,
            suppress_tokens=suppress_tokens,
            context=context,
            sinks=sinks,
        )
        prepare = partial(self._prepare_rows, forced_bos_token_id)
        chat = {
            **(template_variables or {}),
            "tools": tools,
            "documents": documents,
            "chat_template": chat_template,
        }
        if self.takes_pictures and is_single(prompt):
            from webnnm.transformers.picture_prompts import read_prompt, read_task_prompt

            if self.has_decoder:
                pictured = read_task_prompt(prompt, images)
                prepare = partial(self._prepare_task, forced_bos_token_id, pictured)
            else:
                pictured = read_prompt(prompt, images, self.tokenizer, chat)
                prepare = partial(self._prepare_pictures, pictured)
            prompt = pictured.text
        elif images is not None:
            message = "pictures are for a single text of a model that takes them"
            raise DataError("NNM704", message, hint="leave images= out")
        return Writing(
            self._generator,
            self.tokenizer,
            prompt,
            max_new_tokens,
            stop=stop,
            ends=self.tokenizer.ends | read_ends(eos_token_id),
            settings=settings,
            prepare=prepare,
            chat=chat,
        )

    @property
    def takes_pictures(self) -> bool:
        """Whether the texts of the model can have pictures in them."""
        return takes_pictures(self.inputs())

    @property
    def has_decoder(self) -> bool:
        """Whether the text that is written is another one than that which is read."""
        return "decoder_input_ids" in self.inputs()

    async def _see(
        self, pictures: Sequence[Sequence[HostArray]], rows: Sequence[Sequence[int]]
    ) -> dict[str, Any]:
        """Return the source of texts: the features of the pictures `[3, height, width]` of each."""
        raise NotImplementedError  # models of other backends have no pictures in texts

    async def _prepare_pictures(
        self, prompt: PicturePrompt, _tokens: list[list[int]], max_new_tokens: int
    ) -> tuple[list[list[int]], int, dict[str, Any]]:
        """Return the arguments of the generator that continues a text with pictures."""
        from webnnm.transformers.picture_prompts import tokenize

        size = self.picture_size()
        assert size is not None
        places = self.describe_output(STATES).sizes()[0]
        tokenized = await tokenize(prompt, self.tokenizer, self.read_file, size, places)
        source = await self._see([tokenized.pictures], [tokenized.tokens])
        return [tokenized.tokens], max_new_tokens, {"source": source, "context": tokenized.tokens}

    async def _prepare_task(
        self,
        forced: int | None,
        prompt: PicturePrompt,
        _tokens: list[list[int]],
        max_new_tokens: int,
    ) -> tuple[list[list[int]], int, dict[str, Any]]:
        """Return the arguments of the generator that carries out a task for a picture."""
        from webnnm.transformers.picture_prompts import process_for_task, tokenize_task

        how = self.read_file, self.picture_size(), self.backend
        pixels = [(await process_for_task(picture, *how)).pixels for picture in prompt.pictures]
        places = len(pixels) * self.describe_output(STATES).sizes()[0]
        tokens = tokenize_task(prompt.text, self.tokenizer, places)
        source = self._source([tokens], None, await self._see([pixels], [tokens]))[0]
        return self._start(source, max_new_tokens, forced)

    @cached_property
    def _structured_output(self) -> StructuredOutput:
        from webnnm.transformers.structured.output import StructuredOutput

        ends = self.tokenizer.ends | end_tokens(self.generation_config)
        return StructuredOutput(self.tokenizer, self._generator.language.vocabulary, ends)

    def _find_allowed_tokens(
        self,
        choices: Sequence[str] | None = None,
        regex: str | None = None,
        json_schema: Mapping[str, Any] | str | bool | None = None,
    ) -> AllowedTokens | None:
        """Return what finds the tokens of structured texts, if these are asked for."""
        if choices is None and regex is None and json_schema is None:
            return None
        return self._structured_output.find(choices, regex, json_schema)

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> str:
        """Return the messages of a conversation as the text that the model continues.

        >>> def rendered(model):
        ...     messages = [{"role": "user", "content": "What is the capital of France?"}]
        ...     return model.apply_chat_template(messages, enable_thinking=False)

        The chat template of the model's files is rendered as by `transformers`, in a sandbox with
        bounds on time and memory. `generate` does this for messages.

        - `tools`, `documents`: lists of objects for the template.
        - `chat_template`: the name of a template, if the model has several.
        - `add_generation_prompt`: whether the text ends where an answer begins.
        - `variables`: further variables of the template.

        Raises `DataError` NNM718 for a template that is missing, wrong, or takes too long, NNM722
        if it refuses the messages, NNM702 for what is not a message, `BackendError` NNM709 without
        the package jinja2.
        """
        return conversation(
            messages,
            self.tokenizer.template,
            tools=tools,
            documents=documents,
            chat_template=chat_template,
            add_generation_prompt=add_generation_prompt,
            **variables,
        )

    async def generate_ids(
        self,
        input_ids: Any = None,
        *,
        attention_mask: Any = None,
        decoder_input_ids: Any = None,
        forced_bos_token_id: int | None = None,
        max_new_tokens: int = 20,
        pad_token_id: int | None = None,
        **more: Any,
    ) -> list[Any]:
        """Return tokens with their continuation, by default the most likely tokens.

        >>> async def tokens(model):
        ...     return await model.generate_ids([[5, 8, 2], [7]], max_new_tokens=20)

        `input_ids` is a row of tokens, or rows of any lengths, in lists or arrays; in an array
        `[batch, tokens]`, an `attention_mask` is 0 for padding. A row ends with an end-of-text
        token of the config, so that rows differ in length; with `pad_token_id` they are filled up
        with this token, texts that begin later in front and texts that end earlier behind, and fit
        into one array.
        The other arguments are those of `generate`.

        Models of pictures in texts take `pixel_values [texts, pictures, 3, height, width]`, too.
        Models with an encoder take `input_ids`, or other inputs by name. Their texts begin with
        `decoder_input_ids`, by default those of the config, and are returned without the input.
        """
        if pad_token_id is not None and not hasattr(pad_token_id, "__index__"):
            hint = "give a token, an integer, or None for rows of any lengths"
            raise DataError("NNM704", f"pad_token_id is {pad_token_id!r}", hint=hint)
        names = [vertex.block for vertex in self._generator.language.source]
        inputs = {name: more.pop(name) for name in names if name in more}
        pixels = more.pop("pixel_values", None) if self.takes_pictures else None
        vocabulary = self._generator.language.vocabulary
        more_ends = read_ends(more.pop("eos_token_id", None))
        structured = [more.pop(name, None) for name in ("choices", "regex", "json_schema")]
        settings = choice_settings(
            self.generation_config,
            vocabulary,
            allowed=self._find_allowed_tokens(*structured),
            more_ends=more_ends,
            **more,
        )
        if self.takes_pictures:
            read, _ = read_rows(input_ids, attention_mask)
            pictures = [[]] * len(read) if pixels is None else split_pictures(pixels)
            inputs |= await self._see(pictures, read)
        if names and (self.has_decoder or not self.takes_pictures):
            if not self.has_decoder:  # the text is the one that is written
                decoder_input_ids, input_ids = input_ids, None
            source, single = self._source(input_ids, attention_mask, inputs)
            rows, limit, details = self._start(
                source, max_new_tokens, forced_bos_token_id, decoder_input_ids
            )
            settings |= details
        else:
            rows, single = read_rows(input_ids, attention_mask)
            settings |= {"source": inputs} if names else {}
            limit = max_new_tokens
        ends = end_tokens(self.generation_config) | more_ends
        texts = await continue_rows(self._generator, rows, limit, ends, settings)
        returned: int = settings["returned"]
        if pad_token_id is not None:
            starts = [len(row) for row in rows for _ in range(returned)]
            texts = align_rows(texts, starts, pad_token_id)
        return texts[0] if single and returned == 1 else texts

    def _source(
        self, input_ids: Any, mask: Any, inputs: Mapping[str, Any]
    ) -> tuple[dict[str, HostArray], bool]:
        """Return the inputs of an encoder, and whether they were a single row of tokens."""
        single, values = False, dict(inputs)
        if input_ids is not None:
            rows, masks, single = read_masked_rows(input_ids, mask)
            ids, mask_rows = pad_with_mask(rows)
            mask_rows = mask_rows if masks is None else pad_with_mask(masks)[0]
            values |= {"input_ids": ids, "attention_mask": mask_rows}
        vertices = self._generator.language.source
        return read_inputs(self.config, values, vertices, self.input_rules), single

    def _start(
        self,
        source: Mapping[str, HostArray],
        max_new_tokens: int,
        forced: int | None,
        decoder_input_ids: Any = None,
    ) -> tuple[list[list[int]], int, dict[str, Any]]:
        """Return how the texts for a source begin, and the function that continues them."""
        count = len(next(iter(source.values())))
        start = begin_rows(
            self.generation_config,
            count,
            decoder_input_ids,
            forced,
            starts_differ=is_donut(self.config),
        )
        if 1 <= max_new_tokens <= start.forced:
            message = f"max_new_tokens is {max_new_tokens}, but the first token is forced"
            raise DataError("NNM704", message, hint="give 2 or more")
        last = last_token(self.generation_config)
        more = {"source": source, "last": last, "forced": start.forced}
        return start.rows, max_new_tokens - start.forced, more

    async def _prepare_rows(
        self, forced: int | None, tokens: list[list[int]], max_new_tokens: int
    ) -> tuple[list[list[int]], int, dict[str, Any]]:
        """Return the arguments of the generator that continues prompts, or answers them."""
        if not self._generator.language.source:
            return tokens, max_new_tokens, {}
        seen = await self._see([[]] * len(tokens), tokens) if self.takes_pictures else {}
        if self.takes_pictures and not self.has_decoder:
            return tokens, max_new_tokens, {"source": seen}
        return self._start(self._source(tokens, None, seen)[0], max_new_tokens, forced)

    def transcribe(
        self,
        audio: Any,
        *,
        rate: int | None = None,
        language: str | None = None,
        task: str = "transcribe",
        temperature: float | Sequence[float] = TEMPERATURES,
        thresholds: TranscriptionThresholds | None = None,
        seed: int = 0,
    ) -> Transcribing:
        """Transcribe speech: iterate over the segments, or await the whole.

        >>> async def tell(model):
        ...     async for segment in model.transcribe("speech.wav"):
        ...         print(segment.start, segment.end, segment.text)
        ...     return (await model.transcribe("speech.wav")).text

        For Whisper. Sound of any length is processed in windows of half a minute; each begins where
        the last segment of the one before ended.

        - `audio`: a path, a URL or the bytes of a file, see `load_sound`; a `Sound`; samples,
          `rate` of them per second; or a `Microphone` or another asynchronous iterator over these,
          whose windows are transcribed as they come.
        - `language`: its code, such as "de", for multilingual models; by default they detect it
          in the first window.
        - `task`: "transcribe", or "translate" into English.
        - `temperature`: the sampling temperature; with several, a window whose transcript is
          repetitive or uncertain is transcribed again at the next one.
        - `thresholds`: those for this, and for silence.
        - `seed`: the seed of the sampling at temperatures above 0.

        Raises `DataError` NNM717 for models of other kinds, NNM718 for tokenizers without the
        tokens of Whisper, NNM704 for languages that the model does not know, and what `load_sound`
        raises.
        """
        if self.config.get("model_type") != "whisper" or "input_features" not in self.inputs():
            message = "the model cannot transcribe speech: it is not a Whisper"
            raise DataError("NNM717", message, hint="use generate to generate text")
        tokens = SpeechTokens.of(
            self.tokenizer, self.generation_config, self._generator.language.vocabulary
        )
        numbers = isinstance(temperature, (int, float))
        self._transcribing = Transcribing(
            self._generator,
            self.tokenizer,
            tokens,
            self._features,
            Stream(audio, rate, self.backend),
            language=language,
            task=task,
            temperatures=[temperature] if numbers else [*temperature],
            thresholds=thresholds or TranscriptionThresholds(),
            seed=seed,
        )
        return self._transcribing

    def stop(self) -> None:
        """Stop the running generation or transcription; trainings have their own `stop`."""
        self._generator.stop()
        if self._transcribing is not None:
            self._transcribing.stop()

    @property
    def speed(self) -> Speed:
        """The tokens and seconds of the last generation."""
        return self._generator.speed
