"""The kinds of image processors: what each does where its file says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from webnnm.data.pictures.decoded_picture import Filter

Colour = tuple[float, float, float]
Sizing = Literal[
    "plain",
    "convnext",
    "levit",
    "poolformer",
    "multiple",
    "multiple_of_16",
    "rounded_up",
    "divisible",
    "page",
    "tiles",
]
"""How the size of a picture follows from that of the file: `picture_sizes.find_size`."""

HALF: tuple[Colour, Colour] = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
IMAGENET: tuple[Colour, Colour] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
OPENAI: tuple[Colour, Colour] = (
    (0.48145466, 0.4578275, 0.40821073),
    (0.26862954, 0.26130258, 0.27577711),
)
"""Mean and standard deviation of each colour."""


@dataclass(frozen=True, kw_only=True)
class PictureKind:
    """The defaults of a class of image processors.

    Attributes: `size`, as in files; `square`, whether a single number there is both sides, not
    the shorter one; `crop`, the side of the middle that is taken, 0 for all of it; `normalize`,
    None for those that ignore what the file says; `pad`, whether pictures are filled up to the
    largest one, or to `pad_side`; `top_scaled`, whether the result is divided by the deviation once
    more; `masked`, whether the model is told what is padding; `blurred`, whether pictures are
    filled up to squares first, and blurred before they are resized (`processors.blurring`);
    `rounds_crop`, whether a middle that lies between two pixels begins at the even one, as in
    torchvision, or at the first; `patch`, the side of the squares that pictures are cut into for
    models that take any number of them, else 0.
    """

    size: Mapping[str, int] = field(default_factory=lambda: {"height": 224, "width": 224})
    square: bool = True
    filter: Filter = Filter.BICUBIC
    colours: tuple[Colour, Colour] = HALF
    crop: int = 0
    sizing: Sizing = "plain"
    crop_share: float | None = None
    normalize: bool | None = True
    pad: bool = False
    pad_side: int = 0
    flip: bool = False
    top_scaled: bool = False
    masked: bool = False
    blurred: bool = False
    rounds_crop: bool = False
    patch: int = 0


def _square(side: int) -> dict[str, int]:
    return {"height": side, "width": side}


def _short(side: int) -> dict[str, int]:
    return {"shortest_edge": side}


_CLIP = PictureKind(size=_short(224), square=False, colours=OPENAI, crop=224)
_DETR = PictureKind(
    size={"shortest_edge": 800, "longest_edge": 1333},
    square=False,
    filter=Filter.BILINEAR,
    colours=IMAGENET,
    pad=True,
    masked=True,
)
_MOBILENET = PictureKind(size=_short(256), square=False, filter=Filter.BILINEAR, crop=224)
_TILES = PictureKind(size={"longest_edge": 4 * 364}, filter=Filter.LANCZOS, sizing="tiles")
_LEVIT = PictureKind(size=_short(224), square=False, colours=IMAGENET, crop=224, sizing="levit")

KINDS: Mapping[str, PictureKind] = {
    "Beit": PictureKind(),
    "Bit": _CLIP,
    "Blip": PictureKind(size=_square(384), colours=OPENAI),
    "CLIP": _CLIP,
    "ConditionalDetr": _DETR,
    "ConvNext": PictureKind(
        size=_short(384), square=False, sizing="convnext", crop_share=224 / 256
    ),
    # transformers resizes its numbers after scaling: ours are rounded to bytes before.
    "DINOv3ViT": PictureKind(filter=Filter.BILINEAR, colours=IMAGENET),
    "DPT": PictureKind(size=_square(384), sizing="multiple"),
    "DeformableDetr": _DETR,
    "DeiT": PictureKind(size=_square(256), crop=224),
    "Detr": _DETR,
    "Donut": PictureKind(
        size={"height": 2560, "width": 1920}, filter=Filter.BILINEAR, sizing="page", pad=True
    ),
    "EfficientNet": PictureKind(size=_square(346), top_scaled=True),
    "Image": PictureKind(
        size=_short(224), square=False, filter=Filter.BILINEAR, sizing="divisible"
    ),
    "Idefics3": _TILES,
    "Levit": _LEVIT,
    "MaskFormer": replace(_DETR, sizing="rounded_up", masked=False),
    "MobileNetV1": _MOBILENET,
    "MobileNetV2": _MOBILENET,
    "MobileViT": PictureKind(size=_short(224), square=False, crop=256, normalize=None, flip=True),
    "OwlViT": PictureKind(size=_square(768), colours=OPENAI),
    "Owlv2": PictureKind(
        size=_square(960), filter=Filter.BILINEAR, colours=OPENAI, pad=True, blurred=True
    ),
    "PoolFormer": replace(_LEVIT, sizing="poolformer", crop_share=0.9),
    "Pvt": PictureKind(colours=IMAGENET),
    "RTDetr": PictureKind(
        size=_square(640),
        square=False,
        filter=Filter.BILINEAR,
        colours=IMAGENET,
        normalize=False,
        masked=True,
    ),
    "Sam": PictureKind(
        size={"longest_edge": 1024},
        filter=Filter.BILINEAR,
        colours=IMAGENET,
        pad=True,
        pad_side=1024,
    ),
    "Segformer": PictureKind(size=_square(512), filter=Filter.BILINEAR, colours=IMAGENET),
    "Siglip": PictureKind(square=False),
    "Siglip2": PictureKind(filter=Filter.BILINEAR, patch=16),
    "SmolVLM": _TILES,
    "TimmWrapper": PictureKind(colours=IMAGENET, rounds_crop=True),
    "ViT": PictureKind(filter=Filter.BILINEAR),
    "Yolos": replace(_DETR, sizing="multiple_of_16"),
}
"""What the name of the class begins with → its defaults."""
CROP_SIDES = {"Beit": 224, "EfficientNet": 289, "OwlViT": 768}
"""The side that is taken where only the file says that the middle is."""
ENDINGS = re.compile(r"(ImageProcessor|FeatureExtractor)(Fast|Pil)?$")


def find_kind(name: str) -> str | None:
    """Return the key of a class in `KINDS`, None for an unknown one.

    >>> find_kind("ViTFeatureExtractor"), find_kind("ConvNextImageProcessorFast"), find_kind("Vit")
    ('ViT', 'ConvNext', None)
    """
    key = ENDINGS.sub("", name)
    return key if key in KINDS and key != name else None
