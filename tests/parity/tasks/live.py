"""Pipelines beside those of `transformers`, live: part of `make parity`.

The models are tiny, with random weights; what the pipelines return has to be the same, numbers to
1e-4.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer, decoders, processors

import webnnm
from tests.browser.exported_texts import bert, make_tokenizers
from tests.parity.tasks.pictures import LIMIT, find_difference

TEXTS = [
    *("the cat sat on the mat", "Hello, world! naïve café", "My name is Sarah, I live in London."),
    *("fox foxes FOX Fox don't", "日本語テキスト 50% #tag @user", "the fox sat. " * 3, "Größe"),
]
LABELS = {
    "classes": ["NEG", "POS", "X"],
    "inference": ["contradiction", "neutral", "entailment"],
    "names": ["O", "B-PER", "I-PER", "LOC"],
}
SIZES: dict[str, Mapping[str, Any]] = {
    "Bert": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "initializer_range": 0.6,
    },
    "DistilBert": {
        "dim": 16,
        "n_layers": 2,
        "n_heads": 2,
        "hidden_dim": 24,
        "max_position_embeddings": 64,
        "initializer_range": 0.6,
    },
    "Llama": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "initializer_range": 0.6,
        "eos_token_id": 0,
    },
}


class Case(NamedTuple):
    """A task, the class of a model, its config, and calls: an input and keywords."""

    task: str
    model: str
    config: Mapping[str, Any]
    calls: list[tuple[Any, Mapping[str, Any]]]


def name_labels(kind: str, count: int) -> dict[str, Any]:
    """Return what a config says of so many classes."""
    names = LABELS[kind][:count]
    numbers = {name: number for number, name in enumerate(names)}
    return {"num_labels": count, "id2label": dict(enumerate(names)), "label2id": numbers}


def list_cases() -> Iterator[Case]:
    """Yield all cases."""
    classify = [
        *((text, {}) for text in TEXTS),
        *((TEXTS, settings) for settings in ({}, {"top_k": None}, {"top_k": 2, "batch_size": 3})),
        *((TEXTS[0], settings) for settings in ({"top_k": None}, {"top_k": 1})),
        (TEXTS[0], {"function_to_apply": "sigmoid"}),
        ({"text": TEXTS[0], "text_pair": TEXTS[1]}, {}),
    ]
    for count, kind in (
        *((3, None), (1, None), (3, "multi_label_classification"), (2, "regression")),
    ):
        config = {**name_labels("classes", count), "problem_type": kind}
        yield Case("text-classification", "BertForSequenceClassification", config, classify)
    name = "DistilBertForSequenceClassification"
    yield Case("text-classification", name, name_labels("classes", 2), classify[:9])
    inference: list[tuple[Any, Mapping[str, Any]]] = [
        (TEXTS[0], {"candidate_labels": ["cat", "dog", "mat"]}),
        (TEXTS[:3], {"candidate_labels": "cat, mat"}),
        (TEXTS[0], {"candidate_labels": ["cat", "dog"], "multi_label": True}),
        (TEXTS[0], {"candidate_labels": ["cat"]}),
        (TEXTS[0], {"candidate_labels": ["cat", "fox"], "hypothesis_template": "About {}"}),
    ]
    config = name_labels("inference", 3)
    yield Case("zero-shot-classification", "BertForSequenceClassification", config, inference)
    strategies = ("none", "simple", "first", "average", "max")
    recognize = [
        (text, {"aggregation_strategy": strategy, "ignore_labels": ignored})
        for text in [*TEXTS, TEXTS]
        for strategy in strategies
        for ignored in (["O"], [])
    ]
    for name in ("BertForTokenClassification", "DistilBertForTokenClassification"):
        yield Case("token-classification", name, name_labels("names", 4), recognize)
    gaps: list[tuple[Any, Mapping[str, Any]]] = [
        ("the [MASK] sat on", {}),
        (["the [MASK] sat", "a [MASK]"], {"top_k": 3}),
        ("the [MASK] [MASK] mat", {}),
        ("the [MASK]", {"targets": ["a", "x"]}),
    ]
    yield Case("fill-mask", "BertForMaskedLM", {}, gaps)
    yield Case("fill-mask", "DistilBertForMaskedLM", {}, gaps)
    yield Case("feature-extraction", "BertModel", {}, [(text, {}) for text in [*TEXTS, TEXTS]])
    greedy = {"max_new_tokens": 8, "do_sample": False}
    write: list[tuple[Any, Mapping[str, Any]]] = [
        *((text, greedy) for text in TEXTS),
        (TEXTS[:2], {**greedy, "return_full_text": False}),
    ]
    yield Case("text-generation", "LlamaForCausalLM", {}, write)


def make_byte_tokenizer() -> Any:
    """Return a tokenizer as GPT-2 has it."""
    tokenizer: Tokenizer = make_tokenizers()["gpt2"]
    tokenizer.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )


def make_tokenizer() -> Any:
    """Return a tokenizer as BERT has it."""
    tokenizer: Tokenizer = bert()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.decoder = decoders.WordPiece()
    names = ("unk", "pad", "cls", "sep", "mask")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": f"[{name.upper()}]" for name in names},
    )


async def compare(case: Case, tokenizer: Any) -> list[str]:
    """Return what differs, one line for each call that does."""
    family = case.model.partition("For")[0].removesuffix("Model")
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(tokenizer), **SIZES[family], **case.config
    )
    different: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        getattr(transformers, case.model)(config).eval().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        theirs = transformers.pipeline(
            case.task, model=folder, tokenizer=tokenizer, device=torch.device("cpu")
        )
        settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
        async with await webnnm.pipeline(case.task, folder, **settings) as ours:
            for given, keywords in case.calls:
                wanted, found = theirs(given, **keywords), await ours(given, **keywords)
                if problem := find_difference(wanted, found, LIMIT):
                    different.append(f"{str(given)[:40]!r} {keywords}: {problem}")
    return different


def report(seed: int) -> bool:
    """Print how many calls of every pipeline differ; tell whether none does."""
    transformers.logging.set_verbosity_error()
    print(f"\nPipelines, transformers {transformers.__version__}, limit {LIMIT:g}")
    torch.manual_seed(seed)
    words, bytes, wrong = make_tokenizer(), make_byte_tokenizer(), 0
    for case in list_cases():
        tokenizer = bytes if case.model.startswith("Llama") else words
        different = asyncio.run(compare(case, tokenizer))
        wrong += len(different)
        mark = f"  <- {len(different)} differ" if different else ""
        print(f"{case.task:26} {case.model:38} {len(case.calls):3} calls{mark}")
        for line in different:
            print(f"    {line}")
    print("Pipelines agree with transformers." if not wrong else f"{wrong} results differ.")
    return not wrong
