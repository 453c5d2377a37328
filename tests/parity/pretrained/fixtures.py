"""The committed files: configs, shapes of weights, inputs, and the outputs of `transformers`.

The weights themselves are drawn from a seed by their names and shapes.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.pretrained.case import Case
from tests.parity.pretrained.families import FAMILIES

FOLDER = Path(__file__).with_name("families")
SEED = 0
PIXELS = ("pixel_values", "pixel_attention_mask", "spatial_shapes")
"""The inputs that are pictures."""

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Fixture:
    """What is known of a case."""

    config: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    inputs: Arrays
    outputs: Arrays
    scale: float = 1


def draw_weights(shapes: Mapping[str, tuple[int, ...]], seed: int, scale: float = 1) -> Arrays:
    """Draw weights of a size that makes every layer count; scales of norms lie around 1.

    `scale` multiplies matrices.
    """
    return {name: _draw(name, shape, seed, scale) for name, shape in shapes.items()}


def _draw(name: str, shape: tuple[int, ...], seed: int, scale: float) -> Any:
    random = np.random.default_rng([seed, zlib.crc32(name.encode())]).random(shape)
    values = 2 * random - 1
    if len(shape) > 1:
        return (values * (0.3 * scale)).astype(np.float32)
    norm = re.search(r"norm|ln_|\bbn\d*\.", name.lower())
    around = ("weight" in name and norm is not None) or name.endswith("running_var")
    return np.asarray(around + values * 0.3, np.float32)


def draw_inputs(case: Case, config: Mapping[str, Any], seed: int) -> Arrays:
    """Draw the inputs of a case."""
    random = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
    if "_class_name" in config:
        return _latents(case, config, random)
    found: Arrays = {}
    seeing = config.get("vision_config", config)
    if "num_channels" not in seeing:
        seeing = config.get("backbone_config") or seeing
    seeing = config["encoder"] if _writes_about_pictures(config) else seeing
    image = case.image or seeing.get("image_size")
    if image is not None:
        sizes = image if isinstance(image, list | tuple) else [image, image]
        count = case.pictures if "vision_config" in config else case.batch
        pixels = random.random((count, seeing.get("num_channels", 3), *sizes))
        # Few levels, as pictures have them, make small files.
        found["pixel_values"] = (np.round(6 * (2 * pixels - 1)) / 6).astype(np.float32)
        if "prompt_encoder_config" in config:
            points = image * random.random((case.pictures, 2, 3, 2))
            labels = random.choice([-10, -1, 0, 1], (case.pictures, 2, 3))
            return found | {"input_points": points.astype(np.float32), "input_labels": labels}
        if _writes_about_pictures(config):
            vocabulary = config["decoder"]["vocab_size"]
            tokens = random.integers(0, vocabulary, (case.batch, case.target))
            found |= {
                "decoder_input_ids": tokens,
                "decoder_attention_mask": _mask(case, case.target),
            }
            return {name: found[name] for name in ("pixel_values", *case.inputs)}
        if "vision_config" not in config or "ForImageClassification" in case.architecture:
            return found
    if case.patches:
        found = _patches(case, seeing, random)
        if "text_config" not in config or "ForImage" in case.architecture:
            return found
    if "frequency_stride" in config:
        size = case.batch, config["max_length"], config["num_mel_bins"]
        return {"input_values": (2 * random.random(size) - 1).astype(np.float32)}
    if "conv_stride" in config:
        size = case.batch, case.length
        waves = (2 * random.random(size) - 1).astype(np.float32)
        found |= {"input_values": waves, "attention_mask": _mask(case, case.length)}
        if "decoder_input_ids" in case.inputs:
            found["decoder_input_ids"] = random.integers(
                0, config["vocab_size"], (case.batch, case.target)
            )
            found["decoder_attention_mask"] = _mask(case, case.target)
        return {name: found[name] for name in ("input_values", *case.inputs)}
    full_config, config = config, config.get("text_config", config)
    whole = config["vocab_size"]
    vocabularies = {"": whole, "decoder_": config.get("decoder_vocab_size") or whole}
    for stem, length in (("", case.length), ("decoder_", case.target)):
        size = case.batch, length
        mask = _mask(case, length)
        found |= {
            f"{stem}input_ids": random.integers(0, vocabularies[stem], size),
            f"{stem}attention_mask": mask,
            f"{stem}position_ids": np.maximum(np.cumsum(mask, axis=1) - 1, 0),
            f"{stem}global_attention_mask": (np.arange(length) % 5 == 0) * mask,
            f"{stem}token_type_ids": random.integers(0, config.get("type_vocab_size") or 1, size),
        }
    if config["model_type"] == "vits":
        return _draw_speech(case, config, found, random)
    if config["model_type"] == "moonshine":
        waves = 2 * random.random((case.batch, case.length)) - 1
        found["input_values"] = (np.round(8 * waves) / 8).astype(np.float32)
        return {name: found[name] for name in ("input_values", *case.inputs)}
    if "num_mel_bins" in config:
        sizes = case.batch, config["num_mel_bins"], 2 * config["max_source_positions"]
        found["input_features"] = (2 * random.random(sizes) - 1).astype(np.float32)
        return {name: found[name] for name in case.inputs}
    if "image_token_id" in full_config:
        _place_pictures(found, full_config)
    seen = tuple(name for name in PIXELS if seeing is not config and name in found)
    tokens = {name: found[name] for name in ("input_ids", *seen, *case.inputs)}
    if case.choices:
        tokens = {name: _repeat(array, case.choices) for name, array in tokens.items()}
        tokens["input_ids"] = random.integers(0, whole, tokens["input_ids"].shape)
    return tokens


def _draw_speech(
    case: Case, config: Mapping[str, Any], tokens: Arrays, random: np.random.Generator
) -> Arrays:
    """Draw the inputs of a VITS: tokens, then frames, of which no row has padding."""
    found = {name: tokens[name] for name in ("input_ids", "attention_mask")}

    def draw(*sizes: int) -> Any:
        return (np.round(8 * (2 * random.random(sizes) - 1)) / 8).astype(np.float32)

    if config["use_stochastic_duration_prediction"]:
        found["duration_noise"] = draw(case.batch, case.length, 2)
    if config["num_speakers"] > 1:
        found["speaker_id"] = np.arange(case.batch)
        found["voice"] = draw(case.batch, config["speaker_embedding_size"])
    for name in ("frame_means", "frame_log_deviations", "frame_noise"):
        found[name] = draw(case.batch, case.target, config["flow_size"])
    return found | {"frame_mask": np.ones((case.batch, case.target), np.int64)}


def _patches(case: Case, config: Mapping[str, Any], random: np.random.Generator) -> Arrays:
    """Draw patches of pictures of different shapes, filled up to one number."""
    most = max(down * across for down, across in case.patches) + 1
    numbers = config.get("num_channels", 3) * config["patch_size"] ** 2
    pixels = np.round(6 * (2 * random.random((len(case.patches), most, numbers)) - 1)) / 6
    mask = np.array([[n < down * across for n in range(most)] for down, across in case.patches])
    return {
        "pixel_values": pixels.astype(np.float32),
        "pixel_attention_mask": mask.astype(np.int64),
        "spatial_shapes": np.array(case.patches),
    }


def _writes_about_pictures(config: Mapping[str, Any]) -> bool:
    """Return whether a config is that of an image encoder with a text decoder."""
    return config.get("model_type") == "vision-encoder-decoder"


def _place_pictures(found: Arrays, config: Mapping[str, Any]) -> None:
    """Give each text the places of its pictures: the first has two, the others one."""
    vision = config["vision_config"]
    if config["model_type"] == "florence2":  # one for each text
        sides = found["pixel_values"].shape[2:]
        for stride in vision["patch_stride"]:
            sides = [-(-side // stride) for side in sides]
        found["input_ids"] %= config["image_token_id"]
        found["input_ids"][:, : math.prod(sides) + 1] = config["image_token_id"]
        return
    side = vision["image_size"] // vision["patch_size"] // config["scale_factor"]
    ids, places = found["input_ids"], side * side
    batch = len(ids)
    ids[ids == config["image_token_id"]] = 0
    pixels = np.zeros((batch, 2, *found["pixel_values"].shape[1:]), np.float32)
    for text in range(batch):
        for picture in range(2 if text == 0 else 1):
            start = 1 + picture * (places + 1)
            ids[text, start : start + places] = config["image_token_id"]
            pixels[text, picture] = found["pixel_values"][picture]
    found["pixel_values"] = pixels


def _repeat(array: Any, choices: int) -> Any:
    """Return rows of tokens `[batch, length]` as those of each text, `[batch, choices, length]`."""
    return np.repeat(array[:, None], choices, axis=1)


def _latents(case: Case, config: Mapping[str, Any], random: np.random.Generator) -> Arrays:
    """Draw the inputs of a model of `diffusers`."""
    decodes = "latent_channels" in config
    size = config["sample_size"] // (2 if decodes else 1)
    channels = config["latent_channels" if decodes else "in_channels"]
    drawn = 2 * random.random((case.batch, channels, size, size)) - 1
    if decodes:
        return {"z": drawn.astype(np.float32)}
    prompt = 2 * random.random((case.batch, case.length, config["cross_attention_dim"])) - 1
    return {
        "sample": drawn.astype(np.float32),
        "timestep": random.integers(0, 1000, case.batch),
        "encoder_hidden_states": prompt.astype(np.float32),
    }


def _mask(case: Case, length: int) -> Any:
    """Return which tokens count: each row has one more that is padded than the one before."""
    mask = np.ones((case.batch, length), np.int64)
    for row in range(1, case.batch if case.rows else 0):
        mask[row, slice(row) if case.rows == "left" else slice(length - row, None)] = 0
    return mask


def write(family: str, fixtures: Mapping[str, Fixture]) -> int:
    """Write the file of a family anew, and return its size in bytes."""
    named: Arrays = {}
    for name, fixture in fixtures.items():
        values = {"config": fixture.config, "shapes": fixture.shapes}
        values |= {"scale": fixture.scale} if fixture.scale != 1 else {}
        text = json.dumps(values)
        named[f"{name}/text"] = np.frombuffer(text.encode(), np.uint8)
        named |= {f"{name}/in/{each}": array for each, array in fixture.inputs.items()}
        named |= {f"{name}/out/{each}": array for each, array in fixture.outputs.items()}
    file = FOLDER / f"{family}.npz"
    np.savez_compressed(file, **named)
    return file.stat().st_size


def read() -> dict[str, Fixture]:
    """Return the fixtures of all families by the names of their cases."""
    return {name: fixture for family in FAMILIES for name, fixture in _read(family).items()}


def _read(family: str) -> dict[str, Fixture]:
    texts: dict[str, Any] = {}
    arrays: dict[str, dict[str, Arrays]] = {}
    with np.load(FOLDER / f"{family}.npz") as file:
        for name in file.files:
            case, kind, *each = name.split("/")
            if kind == "text":
                texts[case] = json.loads(file[name].tobytes())
            else:
                arrays.setdefault(case, {"in": {}, "out": {}})[kind][each[0]] = file[name]
    return {
        case: Fixture(
            text["config"],
            {name: tuple(shape) for name, shape in text["shapes"].items()},
            arrays[case]["in"],
            arrays[case]["out"],
            text.get("scale", 1),
        )
        for case, text in texts.items()
    }
