"""What `transformers.pipeline` does with pictures and tiny models, beside ours and for fixtures."""

from __future__ import annotations

import asyncio
import gzip
import json
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

import webnnm
from tests.parity.pretrained.fixtures import SEED, draw_weights
from tests.parity.tasks.pictures import (
    FILE,
    LIMIT,
    PictureCase,
    draw,
    find_difference,
    list_picture_cases,
    summarize,
)
from tests.unit.tasks.words import write_tokenizer

TEXT_FILES = (
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "tokenizer_config.json",
)


def save_files(case: PictureCase, folder: str, seed: int) -> dict[str, Any]:
    """Write the files of a model; return the shapes of its weights."""
    kind = getattr(transformers, case.model)
    model = kind(kind.config_class(**case.config))
    if case.generation:
        model.generation_config = transformers.GenerationConfig(**case.generation)
    model.save_pretrained(folder)
    if reads_texts(case):
        make_tokenizer(case).save_pretrained(folder)
    make_processor(case).save_pretrained(folder)
    (file,) = Path(folder).glob("*.safetensors")
    stored = load_file(file)
    # Integers are indices that follow from the config.
    shapes = {name: array.shape for name, array in stored.items() if array.dtype.kind == "f"}
    weights = draw_weights(shapes, seed, case.scale)
    save_file({**stored, **weights}, file, metadata={"format": "pt"})
    return shapes


def reads_texts(case: PictureCase) -> bool:
    """Return whether a case has a tokenizer; others take one for that of words in the picture."""
    return "text_config" in case.config or bool(case.tokens)


def make_tokenizer(case: PictureCase) -> Any:
    """Return the tokenizer of a case."""
    tokenizer = Tokenizer.from_str(write_tokenizer(case.tokens).decode())
    names = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]"}
    if case.tokens:
        names["eos"] = "[SEP]"
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        additional_special_tokens=[*case.tokens],
        **{f"{name}_token": token for name, token in names.items()},
    )


def make_processor(case: PictureCase) -> Any:
    """Return the processor of a case, that which uses Pillow."""
    pictures = getattr(transformers, f"{case.processor}ImageProcessorPil")(**case.settings)
    if case.processor != "Idefics3":
        return pictures
    return transformers.Idefics3Processor(pictures, make_tokenizer(case), image_seq_len=4)


def open_pipeline(case: PictureCase, folder: str) -> Any:
    """Return the pipeline of transformers for a folder."""
    if case.model == "CLIPSegForImageSegmentation":  # has none
        return partial(draw_labels, case, getattr(transformers, case.model).from_pretrained(folder))
    kind = "processor" if case.processor == "Idefics3" else "image_processor"
    more = {"tokenizer": make_tokenizer(case)} if reads_texts(case) else {}
    return transformers.pipeline(
        case.task,
        model=folder,
        **{kind: make_processor(case)},
        device=torch.device("cpu"),
        **more,
    )


def draw_labels(
    case: PictureCase, model: Any, image: Image.Image, *, candidate_labels: list[str], **more: Any
) -> list[dict[str, Any]]:
    """Return what each label names in a picture, as a processor for both prepares its inputs."""
    texts = make_tokenizer(case)(candidate_labels, padding=True, return_tensors="pt")
    pictures = make_processor(case)(images=[image] * len(candidate_labels), return_tensors="pt")
    inputs = {name: texts[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        logits = model(**inputs, pixel_values=pictures["pixel_values"]).logits
    size = image.height, image.width
    large = torch.nn.functional.interpolate(logits[:, None], size, mode="bilinear")[:, 0]
    masks = torch.sigmoid(large) > more.get("mask_threshold", 0.5)
    return [
        {
            "score": torch.sigmoid(own).max().item(),
            "label": label,
            "mask": 255 * mask.to(torch.uint8),
        }
        for label, own, mask in zip(candidate_labels, logits, masks, strict=True)
    ]


def call_pipeline(pipeline: Any, sizes: Any, keywords: Mapping[str, Any]) -> Any:
    """Return the result of a call, pictures and tensors in it as arrays."""
    pictures = draw(sizes)
    if isinstance(pictures, list):
        return [*map(_as_arrays, pipeline([*map(_image, pictures)], **keywords))]
    return _as_arrays(pipeline(_image(pictures), **keywords))


def _image(pixels: Any) -> Image.Image:
    return Image.fromarray(np.asarray(pixels))


def _as_arrays(result: Any) -> Any:
    if isinstance(result, Mapping):
        return {name: _as_arrays(value) for name, value in result.items()}
    if isinstance(result, list):
        return np.asarray(result) if _is_nested(result) else [*map(_as_arrays, result)]
    if isinstance(result, (Image.Image, torch.Tensor)):
        return np.asarray(result)
    return result


def _is_nested(result: list[Any]) -> bool:
    """Tell whether these are three dimensions of numbers: those of a single picture."""
    depth, first = 0, result
    while isinstance(first, list) and first:
        depth, first = depth + 1, first[0]
    return depth in (2, 3) and isinstance(first, float)


def record() -> None:
    """Write the fixtures."""
    fixtures: list[dict[str, Any]] = []
    for case in list_picture_cases():
        with tempfile.TemporaryDirectory() as folder:
            shapes = save_files(case, folder, SEED)
            pipeline = open_pipeline(case, folder)
            files = {
                name: json.loads(Path(folder, name).read_text())
                for name in TEXT_FILES
                if Path(folder, name).exists()
            }
            calls = [
                (sizes, keywords, summarize(call_pipeline(pipeline, sizes, keywords)))
                for sizes, keywords in case.calls
            ]
        fixtures.append(
            {
                "task": case.task,
                "files": files,
                "shapes": shapes,
                "opening": case.opening,
                **({"tokens": case.tokens} if case.tokens else {}),
                **({"scale": case.scale} if case.scale != 1 else {}),
                "calls": calls,
            }
        )
    text = json.dumps(fixtures, separators=(",", ":"))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{FILE.name}: {len(fixtures)} cases, {FILE.stat().st_size / 1000:.0f} kB")


async def compare(case: PictureCase, seed: int) -> list[str]:
    """Return what differs, one line for each call that does."""
    different: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        save_files(case, folder, seed)
        theirs = open_pipeline(case, folder)
        settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None, **case.opening}
        async with await webnnm.pipeline(case.task, folder, **settings) as ours:
            for sizes, keywords in case.calls:
                expected = call_pipeline(theirs, sizes, keywords)
                actual = await ours(draw(sizes), **keywords)
                if problem := find_difference(expected, actual, LIMIT):
                    different.append(f"{sizes} {keywords}: {problem}")
    return different


def report(seed: int) -> bool:
    """Print how many calls of every pipeline differ; tell whether none does."""
    transformers.logging.set_verbosity_error()
    print(f"\nPipelines of pictures, transformers {transformers.__version__}, limit {LIMIT:g}")
    count = 0
    for case in list_picture_cases():
        different = asyncio.run(compare(case, seed))
        count += len(different)
        mark = f"  <- {len(different)} differ" if different else ""
        print(f"{case.task:32} {case.model:38} {len(case.calls):3} calls{mark}")
        for line in different:
            print(f"    {line}")
    print("They agree with transformers." if not count else f"{count} results differ.")
    return not count
