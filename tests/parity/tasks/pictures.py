"""Tasks of pictures, with tiny models: cases, and what `transformers.pipeline` gave, recorded.

A fixture has the files of a model but for its weights, which are drawn by their names and shapes,
the calls, and results in which arrays are summarized. Pictures are named by their sizes.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.parity.pretrained.families import detectors, joint, vision
from tests.parity.pretrained.fixtures import SEED, draw_weights
from tests.parity.tasks.processors import draw_pixels, sample
from tests.unit.tasks.words import WORDS, write_tokenizer
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks

FILE = Path(__file__).with_name("pictures.json.gz")
LIMIT = 1e-4
Size = tuple[int, int]
Call = tuple[Size | Sequence[Size], Mapping[str, Any]]

NAMES = ["cat", "dog", "fox", "mat", "sofa"]
LABELS = {"id2label": dict(enumerate(NAMES)), "label2id": {n: k for k, n in enumerate(NAMES)}}
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
TOKENS = {"vocab_size": len(WORDS), "eos_token_id": 3, "pad_token_id": 0}
VISION = {**SMALL, "image_size": 32, "patch_size": 8}
CLIP = {
    "text_config": {**SMALL, "max_position_embeddings": 64, **TOKENS},
    "vision_config": VISION,
    "projection_dim": 12,
}
SIDE = {"height": 32, "width": 32}
CROPS = {"size": {"shortest_edge": 36}, "crop_size": SIDE}
CROP = {"height": 40, "width": 36}
SIZES = ((41, 30), (32, 32), (60, 140), (90, 50))
"""Widths and heights of pictures."""


DONUT_TOKENS = ("<s_docvqa>", "<s_question>", "</s_question>", "<s_answer>", "</s_answer>")
IDEFICS_TOKENS = (
    "<fake_token_around_image>",
    "<image>",
    "<end_of_utterance>",
    "<global-img>",
    *(f"<row_{row + 1}_col_{column + 1}>" for row in range(3) for column in range(3)),
)

MOBILENET = {**vision.MOBILENET2, "num_channels": 3, "output_stride": 8}
SHORT = {"size": {"shortest_edge": 32}}
NETWORKS = (
    ("DeiTForImageClassificationWithTeacher", VISION, "DeiT", {"size": CROP, "crop_size": SIDE}),
    ("Dinov2ForImageClassification", {**vision.DINO, "image_size": 32}, "Bit", CROPS),
    ("BeitForImageClassification", VISION, "Beit", {"size": SIDE}),
    ("ResNetForImageClassification", vision.RESNET, "ConvNext", SHORT),
    ("ConvNextForImageClassification", vision.CONVNEXT, "ConvNext", SHORT),
    ("MobileNetV2ForImageClassification", MOBILENET, "MobileNetV2", CROPS),
    ("EfficientNetForImageClassification", vision.EFFICIENTNET, "EfficientNet", {"size": SIDE}),
    ("SwinForImageClassification", {**vision.SWIN, "image_size": 32}, "ViT", {"size": SIDE}),
)
"""Models that classify, their configs, the classes of their processors and settings."""


class PictureCase(NamedTuple):
    """A task, the class of a model, its config, the class of its processor, its settings, calls.

    `opening` are keywords of our `pipeline`, `tokens` control tokens of the tokenizer, `generation`
    settings of texts; `scale` multiplies matrices.
    """

    task: str
    model: str
    config: Mapping[str, Any]
    processor: str
    settings: Mapping[str, Any]
    calls: Sequence[Call]
    opening: Mapping[str, Any] = {}
    tokens: Sequence[str] = ()
    generation: Mapping[str, Any] = {}
    scale: float = 1


def list_picture_cases() -> Iterator[PictureCase]:
    """Yield all cases."""
    classify: list[Call] = [
        *((size, {}) for size in SIZES),
        *((SIZES, settings) for settings in ({}, {"top_k": 2}, {"batch_size": 3})),
        (SIZES[0], {"top_k": 2, "function_to_apply": "sigmoid"}),
        (SIZES[0], {"function_to_apply": "none"}),
    ]
    task = "image-classification"
    for problem in (None, "multi_label_classification", "regression"):
        config = {**VISION, **LABELS, "problem_type": problem}
        calls = classify if problem is None else classify[:1]
        yield PictureCase(task, "ViTForImageClassification", config, "ViT", {"size": SIDE}, calls)
    for model, config, processor, settings in NETWORKS:
        calls = [(SIZES[0], {}), (SIZES[3], {"function_to_apply": "none"}), classify[6]]
        yield PictureCase(task, model, {**config, **LABELS}, processor, settings, calls)
    task = "document-question-answering"
    question = {"question": "what so good?"}
    config = {"encoder": {**joint.DONUT_SWIN, "image_size": [32, 24]}}
    config["decoder"] = {**joint.TROCR, "model_type": "mbart", **TOKENS}
    config["decoder"]["vocab_size"] += len(DONUT_TOKENS)
    ends = {"forced_eos_token_id": len(WORDS) + 4, "max_new_tokens": 12, "bos_token_id": 2}
    yield PictureCase(
        task,
        "VisionEncoderDecoderModel",
        config,
        "Donut",
        {"size": {"height": 32, "width": 24}, "do_align_long_axis": True},
        [*((size, question) for size in SIZES), (SIZES[0], {"question": "a day."})],
        tokens=DONUT_TOKENS,
        generation={**ends, "decoder_start_token_id": 2, "eos_token_id": 3, "pad_token_id": 0},
    )
    task = "image-text-to-text"
    config = {
        "text_config": {**joint.SMOLVLM["text_config"], **TOKENS},
        "vision_config": joint.SMOLVLM["vision_config"],
        "image_token_id": len(WORDS) + IDEFICS_TOKENS.index("<image>"),
        "scale_factor": 2,
    }
    config["text_config"]["vocab_size"] += len(IDEFICS_TOKENS)
    about = {"text": "<image> what good day?", "max_new_tokens": 40, "do_sample": False}
    both = {**about, "text": "so <image> bad <image>"}
    yield PictureCase(
        task,
        "SmolVLMForConditionalGeneration",
        config,
        "Idefics3",
        {"size": {"longest_edge": 24}, "max_image_size": {"longest_edge": 8}},
        [*((size, about) for size in SIZES), (SIZES[:2], both)],
        tokens=IDEFICS_TOKENS,
        generation={
            "bos_token_id": 2,
            "eos_token_id": 3,
            "pad_token_id": 0,
            "suppress_tokens": [3],
        },
    )
    task = "object-detection"
    detect: list[Call] = [((48, 32), {"threshold": threshold}) for threshold in (0.0, 0.3)]
    detect.append(([(48, 32), (96, 64)], {"threshold": 0.0, "batch_size": 2}))
    sides = {"shortest_edge": 32, "longest_edge": 64}
    config = {**vision.YOLOS, "image_size": [32, 48], **LABELS}
    yield PictureCase(task, "YolosForObjectDetection", config, "Yolos", {"size": sides}, detect)
    shapes: list[Call] = [(size, {"threshold": 0.0}) for size in SIZES]
    shapes.append((SIZES, {"threshold": 0.3}))
    config = {**vision.YOLOS, "image_size": [32, 48], "num_hidden_layers": 3, **LABELS}
    yield PictureCase(task, "YolosForObjectDetection", config, "Yolos", {"size": sides}, shapes)
    config = {**vision.DETR, **LABELS}
    yield PictureCase(task, "DetrForObjectDetection", config, "Detr", {"size": sides}, shapes)
    yield PictureCase(
        task, "DetrForObjectDetection", config, "Detr", {"size": sides}, detect,
        {"image_size": [32, 48]},
    )  # fmt: skip
    config = {**detectors.RT_DETR, **LABELS}
    squares: list[Call] = [
        (size, {"threshold": threshold}) for size in SIZES[:2] for threshold in (0.0, 0.4)
    ]
    squares.append((SIZES, {"threshold": 0.4, "batch_size": 3}))
    side = {"size": {"height": 64, "width": 64}}
    yield PictureCase(task, "RTDetrForObjectDetection", config, "RTDetr", side, squares)
    task = "zero-shot-object-detection"
    owl = {**CLIP, "projection_dim": 16}
    look: list[Call] = [
        *((size, {"candidate_labels": ["good", "a bad day"], "threshold": 0.0}) for size in SIZES),
        (SIZES[0], {"candidate_labels": "so dayly,bad", "threshold": 0.3, "top_k": 3}),
    ]
    for kind in ("OwlViT", "Owlv2"):
        yield PictureCase(task, f"{kind}ForObjectDetection", owl, kind, {"size": SIDE}, look)
    task = "image-segmentation"
    config = {**vision.SEGFORMER, **LABELS}
    segment: list[Call] = [(size, {}) for size in SIZES]
    segment.append((SIZES[:2], {"subtask": "semantic", "batch_size": 2}))
    yield PictureCase(
        task, "SegformerForSemanticSegmentation", config, "Segformer", {"size": SIDE}, segment
    )
    config = {**vision.DETR_MASKS, **LABELS}
    low = {"threshold": 0.2, "mask_threshold": 0.1, "overlap_mask_area_threshold": 0.3}
    objects: list[Call] = [
        *((size, low) for size in (SIZES[0], *SIZES[2:])),
        *((SIZES[0], {**low, "subtask": subtask}) for subtask in ("panoptic", "instance")),
        (SIZES[0], {**low, "mask_threshold": 0.16, "overlap_mask_area_threshold": 0.0}),
        (SIZES[0], {}),
        ([(48, 32), (96, 64)], {"subtask": "semantic", "batch_size": 2}),
        (SIZES[2:], low),
    ]
    yield PictureCase(
        task, "DetrForSegmentation", config, "Detr", {"size": sides}, objects, scale=4
    )
    config = {**vision.MASKFORMER, **LABELS}
    sides = {**sides, "longest_edge": 96}
    look: list[Call] = [
        *((size, low) for size in (SIZES[0], *SIZES[2:])),
        (SIZES[0], {**low, "subtask": "panoptic"}),
        (SIZES[2], {}),
        ([(48, 32), (96, 64)], {"subtask": "semantic", "batch_size": 2}),
        (SIZES[3], {"subtask": "semantic"}),
    ]
    yield PictureCase(
        *(task, "MaskFormerForInstanceSegmentation", config),
        *("MaskFormer", {"size": sides}, look),
        scale=3,
    )
    clipseg = {
        **CLIP,
        "vision_config": {**VISION, "image_size": 24},
        "projection_dim": 12,
        "extract_layers": [0, 1],
        "reduce_dim": 8,
        "decoder_num_attention_heads": 2,
        "decoder_intermediate_size": 12,
    }
    draw_labels: list[Call] = [
        *((size, {"candidate_labels": ["good", "a bad day"]}) for size in SIZES),
        (SIZES[0], {"candidate_labels": ["so dayly"], "mask_threshold": 0.45}),
    ]
    yield PictureCase(
        task, "CLIPSegForImageSegmentation", clipseg, "ViT", {"size": SIDE}, draw_labels
    )
    task = "depth-estimation"
    measure: list[Call] = [(SIZES[0], {}), (SIZES[2:], {"batch_size": 2})]
    config = {**vision.DPT, "image_size": 32}
    yield PictureCase(task, "DPTForDepthEstimation", config, "DPT", {"size": SIDE}, measure)
    config = {**vision.DEPTH_ANYTHING}
    config["backbone_config"] = {**config["backbone_config"], "image_size": 32}
    kept = {"keep_aspect_ratio": True, "ensure_multiple_of": 4, "size": SIDE}
    yield PictureCase(
        task,
        "DepthAnythingForDepthEstimation",
        config,
        "DPT",
        kept,
        [((32, 32), {}), ((64, 64), {}), (SIZES[2:], {})],
    )
    extract: list[Call] = [
        *((size, {}) for size in SIZES),
        (SIZES[0], {"pool": True}),
        (SIZES, {"pool": True, "batch_size": 3}),
    ]
    task = "image-feature-extraction"
    yield PictureCase(task, "ViTModel", VISION, "ViT", {"size": SIDE}, extract)
    yield PictureCase(task, "CLIPVisionModel", VISION, "CLIP", CROPS, extract)
    labels = {"candidate_labels": ["good", "a bad day", "so dayly"]}
    compare: list[Call] = [
        *((size, labels) for size in SIZES),
        (SIZES, labels),
        (SIZES[0], {**labels, "hypothesis_template": "so {}."}),
    ]
    yield PictureCase("zero-shot-image-classification", "CLIPModel", CLIP, "CLIP", CROPS, compare)


def draw(sizes: Any) -> Any:
    """Return a picture of a size, or a list of them."""
    if isinstance(sizes[0], int):
        return draw_pixels(*sizes)
    return [draw_pixels(*size) for size in sizes]


def make_files(fixture: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of the model of a fixture."""
    weights = draw_weights(fixture["shapes"], SEED, fixture.get("scale", 1))
    tensors = {name: HostArray.of(values) for name, values in weights.items()}
    files = {name: json.dumps(values).encode() for name, values in fixture["files"].items()}
    return {
        **files,
        "model.safetensors": b"".join(chunks(tensors, {})),
        "tokenizer.json": write_tokenizer(fixture.get("tokens", ())),
    }


def summarize(result: Any) -> Any:
    """Return a result with some of the numbers of its arrays, and its numbers rounded."""
    if isinstance(result, Mapping):
        return {name: summarize(value) for name, value in result.items()}  # pyrefly: ignore[unknown-variable-type]
    if isinstance(result, list):
        return [summarize(value) for value in result]  # pyrefly: ignore[unknown-variable-type]
    if hasattr(result, "shape"):
        values = HostArray.of(result, "float32")
        return {"shape": [*values.shape], "numbers": [round(x, 6) for x in sample(values)]}
    return round(result, 6) if isinstance(result, float) else result


def read_fixtures() -> list[Mapping[str, Any]]:
    """Return what was recorded."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def find_difference(expected: Any, actual: Any, limit: float, place: str = "") -> str:
    """Return where two results differ, "" if they do not; numbers may differ by a limit."""
    if hasattr(actual, "tolist"):
        actual = actual.tolist()
    if hasattr(expected, "tolist"):
        expected = expected.tolist()
    if isinstance(expected, Mapping):
        if expected.keys() != actual.keys():
            return f"{place}: {[*expected]} and {[*actual]}"
        parts = ((expected[name], actual[name], f"{place}/{name}") for name in expected)
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(expected) != len(actual):
            return f"{place}: {expected} and {actual}"
        pairs = enumerate(zip(expected, actual, strict=True))
        parts = ((one, other, f"{place}/{k}") for k, (one, other) in pairs)
    elif isinstance(actual, float):
        close = math.isclose(expected, actual, rel_tol=limit, abs_tol=limit)
        return "" if close else f"{place}: {expected} and {actual}"
    else:
        return "" if expected == actual else f"{place}: {expected!r} and {actual!r}"
    return next(filter(None, (find_difference(*part[:2], limit, part[2]) for part in parts)), "")
