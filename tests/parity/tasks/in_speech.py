"""What `transformers.pipeline` does with sounds and tiny models, beside ours and for fixtures."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import webnnm
from tests.parity.pretrained.fixtures import SEED, draw_weights
from tests.parity.tasks.pictures import LIMIT, find_difference, summarize
from tests.parity.tasks.sounds import draw_samples
from tests.parity.tasks.speech import (
    CALLS,
    FILE,
    LENGTHS,
    MOONSHINE,
    SMALL,
    VOCABULARY,
    SpeechCase,
    list_speech_cases,
)

TEXT_FILES = (
    *("config.json", "generation_config.json", "preprocessor_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "vocab.json"),
)


def save_files(case: SpeechCase, folder: Path, seed: int) -> dict[str, Any]:
    """Write the files of a model; return the shapes of its weights."""
    writes = case.family == "Moonshine"
    config = getattr(transformers, f"{case.family}Config")(**(MOONSHINE if writes else SMALL))
    getattr(transformers, case.family + case.head)(config).save_pretrained(folder)
    if writes:
        make_tokenizer().save_pretrained(folder)
    else:
        (folder / "vocab.json").write_text(json.dumps(VOCABULARY))
        transformers.Wav2Vec2CTCTokenizer(folder / "vocab.json").save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    (file,) = folder.glob("*.safetensors")
    shapes = {name: array.shape for name, array in load_file(file).items()}
    save_file(draw_weights(shapes, seed), file, metadata={"format": "pt"})
    return shapes


def make_tokenizer() -> Any:
    """Return a tokenizer of letters and spaces."""
    tokens = ["<unk>", "<s>", "</s>", *"▁abcdefghijklmn"]
    letters = Tokenizer(models.BPE({token: k for k, token in enumerate(tokens)}, []))
    letters.pre_tokenizer = pre_tokenizers.Metaspace()
    letters.decoder = decoders.Metaspace()
    letters.add_special_tokens(tokens[:3])
    ends = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=letters, **ends)


def compute(case: SpeechCase, folder: Path) -> list[Any]:
    """Return what the pipeline of transformers gives for sounds."""
    pipeline = open_reference(case, folder)
    return [pipeline(np.asarray(draw_samples(length), "float32")) for length in LENGTHS]


def compute_calls(case: SpeechCase, folder: Path) -> list[Any]:
    """Return what it gives with other settings, for models of letters."""
    if case.head != "ForCTC":
        return []
    pipeline = open_reference(case, folder)
    sound = np.asarray(draw_samples(LENGTHS[0]), "float32")
    return [pipeline(sound, **settings) for settings in CALLS]


def open_reference(case: SpeechCase, folder: Path) -> Any:
    """Return the pipeline of transformers."""
    more: dict[str, Any] = {}
    if case.family == "Moonshine":
        more["tokenizer"] = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    if case.head == "ForCTC":
        more["tokenizer"] = transformers.Wav2Vec2CTCTokenizer.from_pretrained(folder)
    return transformers.pipeline(
        case.task,
        model=str(folder),
        feature_extractor=transformers.Wav2Vec2FeatureExtractor(),
        device=torch.device("cpu"),
        **more,
    )


async def compare(case: SpeechCase, folder: Path) -> list[str]:
    """Return what differs, one line for each sound that does."""
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    async with await webnnm.pipeline(case.task, folder, **settings) as run:
        actual = [await run(draw_samples(length)) for length in LENGTHS]
        if case.head == "ForCTC":
            actual += [await run(draw_samples(LENGTHS[0]), **settings) for settings in CALLS]
    expected = compute(case, folder) + compute_calls(case, folder)
    pairs = zip(expected, actual, strict=True)
    return [*filter(None, (find_difference(*pair, LIMIT) for pair in pairs))]


def report(seed: int) -> bool:
    """Print which pipelines differ; tell whether none does."""
    print(f"\nPipelines of sounds, limit {LIMIT:g}")
    count = 0
    for case in list_speech_cases():
        with tempfile.TemporaryDirectory() as name:
            save_files(case, Path(name), seed)
            different = asyncio.run(compare(case, Path(name)))
        count += len(different)
        print(f"{case.task:32} {case.family + case.head:36} {'; '.join(different) or 'agree'}")
    return not count


def record() -> None:
    """Write the fixtures."""
    fixtures: list[dict[str, Any]] = []
    for case in list_speech_cases():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shapes = save_files(case, folder, SEED)
            paths = [folder / file for file in TEXT_FILES]
            files = {path.name: json.loads(path.read_text()) for path in paths if path.exists()}
            results = summarize(compute(case, folder))
            calls = compute_calls(case, folder)
        fixture = {"task": case.task, "files": files, "shapes": shapes, "results": results}
        fixture |= {"calls": calls} if calls else {}
        fixtures.append(fixture)
    lines = ",\n".join(json.dumps(fixture, separators=(",", ":")) for fixture in fixtures)
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"{FILE.name}: {len(fixtures)} cases, {FILE.stat().st_size / 1000:.0f} kB")
