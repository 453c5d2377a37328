"""What a processor does to pictures: the settings of a `preprocessor_config.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.data.pictures.decoded_picture import Filter
from webnnm.formats.fields import Fields, shorten
from webnnm.transformers.processors.picture_kinds import (
    CROP_SIDES,
    KINDS,
    Colour,
    PictureKind,
    Sizing,
    find_kind,
)

Size = tuple[int, int]
"""Height and width."""

FILE = "preprocessor_config.json"
CLASSES = ("image_processor_type", "feature_extractor_type")
"""Keys with the class of a processor."""
MAX_SIDE = 1 << 14
MULTIPLE_KEYS: Mapping[Sizing, str] = {
    "divisible": "size_divisibility",
    "rounded_up": "size_divisor",
}
"""Kinds of sizes → the key of the number whose multiples sides are, else `ensure_multiple_of`."""
ROUNDED_UP = 32
"""The number whose multiples sides are rounded up to, if the file does not say."""
MAX_PATCHES = 256
"""How many patches pictures are cut into at most, if the file does not say."""
SIZES = (
    {"height", "width"},
    {"shortest_edge"},
    {"longest_edge"},
    {"shortest_edge", "longest_edge"},
    {"max_height", "max_width"},
)
"""The keys that sizes have together."""
FORMS: Mapping[Sizing, Sequence[set[str]]] = {
    "convnext": ({"shortest_edge"},),
    "page": ({"height", "width"},),
    "tiles": ({"longest_edge"}, {"height", "width"}),
}
"""Kinds of sizes that have only some of these."""
TILE = 364
"""The side of tiles where files have none."""
LONGER = 1333
"""The longer side of pictures where old files have only the shorter one, for detection."""
HARMLESS = re.compile(
    r"""_.* | .*processor_class | auto_map | .*reduce_labels | do_convert_(rgb|annotations) | format
    | return_.* | default_to_square | (input_)?data_format | device | disable_grouping
    | pad_and_return_pixel_mask | mask_(pad_)?size | ignore_index | num_labels | class_info_file
    | transformers_version | video_.* | image_seq(uence)?_len(gth)? | repo_path | model_input_names
    """,
    re.VERBOSE,
)
"""Keys for training and for other programs: what a picture becomes does not depend on them.

Pictures are read as RGB, whatever `do_convert_rgb` says.
"""


@dataclass(frozen=True, kw_only=True)
class PictureSettings:
    """What is done to a picture, in this order; `kind` is the key of its class in `KINDS`.

    It is turned if `align_long_axis` and its longer side is not that of `size`; resized to a `size`
    by a `filter`, unless `resize` is false, by the rule `sizing`; pages are resized again if
    `thumbnail`, until they fit; the middle of the size `crop` is taken; bytes are multiplied by
    `factor`, `offset` is added, `mean` subtracted and divided by `deviation`; with `flip` blue
    comes first; then it is filled up with zeros: to `pad_size`, or to multiples of `divisor`, or to
    the largest of a batch. `masked` says that the model is told what is padding. With `blurred`, it
    is filled up to a square and blurred before it is resized. `rounds_crop` says how the middle is
    found (`PictureKind`). With `patch`, it is resized to the largest size with at most
    `max_patches` squares of this side, into which it is cut.

    Pictures are cut into squares of `tile` pixels if there is one, unless `split` is false.
    """

    kind: str
    align_long_axis: bool
    resize: bool
    thumbnail: bool
    size: Mapping[str, int]
    filter: Filter
    sizing: Sizing
    crop_share: float | None
    multiple: int
    keep_aspect_ratio: bool
    crop: Size | None
    factor: float
    offset: float
    mean: Colour
    deviation: Colour
    flip: bool
    pad: bool
    pad_size: Size | None
    divisor: int
    masked: bool
    blurred: bool = False
    rounds_crop: bool = False
    patch: int = 0
    max_patches: int = 0
    tile: int = 0
    split: bool = False

    @property
    def squared(self) -> bool:
        """Whether the picture is filled up to a square first: sizes are shares of its side."""
        return self.blurred and self.pad

    @property
    def varies(self) -> bool:
        """Whether the size of the result depends on the shape of the picture."""
        if self.crop is not None or self.sizing == "convnext":
            return False
        keeps_shape = self.keep_aspect_ratio or self.sizing == "page"
        return keeps_shape or not {"height", "width"} <= self.size.keys()


def read_picture_settings(
    values: Mapping[str, Any], file: str = FILE, path: str = ""
) -> PictureSettings:
    """Return the settings of a `preprocessor_config.json`; what it lacks are those of its class.

    >>> settings = read_picture_settings({"image_processor_type": "ViTImageProcessor", "size": 64})
    >>> settings.size, settings.mean
    ({'height': 64, 'width': 64}, (0.5, 0.5, 0.5))

    `file` and `path` are for messages. Raises `DataError` NNM818 for an unknown class, for invalid
    values, and for keys that are not supported.
    """
    fields = _PictureFields(values, file)
    fields.set_path(path)
    kind = fields.kind()
    normalize = fields.flag("do_normalize", bool(kind.normalize)) and kind.normalize is not None
    mean = read_colour(fields, "image_mean", kind.colours[0])
    deviation = read_colour(fields, "image_std", kind.colours[1])
    if fields.flag("include_top", kind.top_scaled) and kind.top_scaled:
        squares = cast("Colour", tuple(value * value for value in deviation))
        deviation = squares if normalize else deviation
        normalize, mean = True, mean if normalize else (0.0, 0.0, 0.0)
    rescale = fields.flag("do_rescale", True)
    crop_side = kind.crop or CROP_SIDES.get(fields.class_key, 224)
    crop = fields.side_pair("crop_size", (crop_side, crop_side))
    size = fields.size(kind)
    pads = (kind.pad_side, kind.pad_side) if kind.pad_side else None
    pad = fields.flag("do_pad", kind.pad)
    is_page, cuts = kind.sizing == "page", kind.sizing == "tiles"
    if is_page:  # black comes around pages before bytes become numbers, as where a crop is larger
        crop, do_crop, pad = (size["height"], size["width"]), pad, False
    else:
        do_crop = fields.flag("do_center_crop", kind.crop > 0)
    divisor_keys = ("size_divisor", "pad_size_divisor")
    rounds_up = kind.sizing == "rounded_up"
    divisor = max(fields.integer(key, 0) for key in divisor_keys[rounds_up:])
    multiple_key = MULTIPLE_KEYS.get(kind.sizing, "ensure_multiple_of")
    multiple = fields.integer(multiple_key, ROUNDED_UP if rounds_up else 1, 0 if rounds_up else 1)
    patch = fields.integer("patch_size", kind.patch, 1, MAX_SIDE) if kind.patch else 0
    max_patches = fields.integer("max_num_patches", MAX_PATCHES, 1, MAX_SIDE) if patch else 0
    factor = fields.number("rescale_factor", 1 / 255)
    offset = -1.0 if fields.flag("rescale_offset") and rescale else 0.0
    settings = PictureSettings(
        kind=fields.class_key,
        align_long_axis=is_page and fields.flag("do_align_long_axis"),
        resize=fields.flag("do_resize", True),
        thumbnail=is_page and fields.flag("do_thumbnail", True),
        size=size,
        filter=fields.filter(kind.filter),
        sizing=kind.sizing,
        crop_share=fields.share(kind.crop_share),
        multiple=multiple or 1,
        keep_aspect_ratio=fields.flag("keep_aspect_ratio"),
        crop=crop if do_crop else None,
        factor=factor if rescale else 1.0,
        offset=offset,
        mean=mean if normalize else (0.0, 0.0, 0.0),
        deviation=deviation if normalize else (1.0, 1.0, 1.0),
        flip=fields.flag("do_flip_channel_order", kind.flip),
        pad=pad,
        pad_size=fields.side_pair("pad_size", pads) if pad else None,
        divisor=divisor if pad else 0,
        masked=kind.masked and pad,
        blurred=kind.blurred,
        rounds_crop=kind.rounds_crop,
        patch=patch,
        max_patches=max_patches,
        tile=fields.tile() if cuts else 0,
        split=cuts and fields.flag("do_image_splitting", True),
    )
    fields.finish(pad)
    return settings


class _PictureFields(Fields):
    """The fields of a processor of pictures."""

    class_key: str

    def set_path(self, path: str) -> None:
        self._path = path

    def kind(self) -> PictureKind:
        key = next((key for key in CLASSES if key in self), CLASSES[0])
        name = self.text(key)
        self._read |= {*CLASSES}
        self.class_key = find_kind(name) or ""
        if not self.class_key:
            names = [f"{kind}ImageProcessor" for kind in KINDS]
            hint = suggestion(name, names) or f"known: {', '.join(names)}"
            message = f'{self.file}: "{self._path}{key}" is {shorten(name)}, which is unknown'
            raise DataError(self.code, message, hint=hint)
        return KINDS[self.class_key]

    def filter(self, default: Filter) -> Filter:
        """Return the number of a filter of Pillow."""
        return Filter(self.integer("resample", int(default), most=max(Filter)))

    def share(self, default: float | None) -> float | None:
        """Return the share of a picture that is taken, for the classes that have one."""
        return None if default is None else self.number("crop_pct", default, above=0)

    def size(self, kind: PictureKind) -> dict[str, int]:
        """Return the size that pictures are resized to, by the names of its sides."""
        value: Any = self.get("size", dict(kind.size))
        longer = self.integer("max_size", LONGER, 1, MAX_SIDE)
        if type(value) is int:
            if kind.square:
                value = {"height": value, "width": value}
            else:
                more = {"longest_edge": longer} if "longest_edge" in kind.size else {}
                value = {"shortest_edge": value, **more}
        elif isinstance(value, list) and len(cast("list[Any]", value)) == 2:
            names = ("width", "height") if kind.sizing == "page" else ("height", "width")
            value = dict(zip(names, cast("list[Any]", value), strict=True))
        if isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            sides = {name: side for name, side in named.items() if side is not None}
            forms = FORMS.get(kind.sizing, SIZES)
            if {*sides} in forms and all(map(_is_side, sides.values())):
                return sides
        raise self.wrong("size", f"the sides of pictures, from 1 to {MAX_SIDE}")

    def tile(self) -> int:
        """Return the side of the squares that pictures are cut into."""
        value: Any = self.get("max_image_size", {"longest_edge": TILE})
        side = (
            cast("dict[str, Any]", value).get("longest_edge") if isinstance(value, dict) else None
        )
        if not _is_side(side):
            raise self.wrong("max_image_size", f'"longest_edge", from 1 to {MAX_SIDE}')
        return cast("int", side)

    def side_pair(self, key: str, default: Any) -> Any:
        """Return a height and a width, of a single number both."""
        value: Any = self.get(key)
        if value is None:
            return default
        if isinstance(value, dict):
            sides = cast("dict[str, Any]", value)
            value = [sides.get("height"), sides.get("width")]
        pair = cast("list[Any]", value if isinstance(value, list) else [value, value])
        if len(pair) != 2 or not all(map(_is_side, pair)):
            raise self.wrong(key, f"height and width, from 1 to {MAX_SIDE}")
        return pair[0], pair[1]

    def finish(self, pad: bool) -> None:
        """Raise an error for keys that were not read; only empty ones are ignored."""
        if not pad:
            self._read |= {"pad_size", "size_divisor"}
        for key, value in self.given.items():
            if key not in self._read and value and not HARMLESS.fullmatch(key):
                message = f'{self.file}: "{self._path}{key}" is {shorten(value)}'
                hint = "pass pixel_values to predict, prepared as this key says"
                raise DataError(self.code, f"{message}, which is not supported", hint=hint)


def read_colour(fields: Fields, key: str, default: Colour) -> Colour:
    """Return a number for each colour; a single one is that of all."""
    value: Any = fields.get(key, [*default])
    numbers = cast("list[Any]", value if isinstance(value, list) else [value] * 3)
    good = len(numbers) == 3 and all(type(number) in (int, float) for number in numbers)
    if not good or (key.endswith("std") and 0 in numbers):
        raise fields.wrong(key, "three numbers, one for each colour")
    red, green, blue = map(float, numbers)
    return red, green, blue


def _is_side(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MAX_SIDE
