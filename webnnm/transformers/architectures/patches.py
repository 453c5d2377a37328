"""Images split into patches, which become tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webnnm.core.errors import DataError
from webnnm.transformers.config import Config

MAX_PATCHES = 1 << 16
"""The most patches of a picture."""


class Picture(NamedTuple):
    """The input of an image encoder: channels, height and width, and the size of a patch."""

    channels: int
    height: int
    width: int
    patch: tuple[int, int]

    @property
    def grid(self) -> tuple[int, int]:
        """The number of patches down and across."""
        return self.height // self.patch[0], self.width // self.patch[1]

    @property
    def patches(self) -> int:
        """The number of patches."""
        return self.grid[0] * self.grid[1]

    @property
    def input(self) -> str:
        """The statement of the input."""
        sizes = f"channels:{self.channels}, height:{self.height}, width:{self.width}"
        return f"pixel_values:input shape={{{sizes}}}"

    def cut(self, features: int, *, bias: bool = True) -> str:
        """Return the layer that computes features of each patch."""
        patch = f"[{self.patch[0]}, {self.patch[1]}]"
        biased = ", bias=patch_b" if bias else ""
        return (
            f"conv2d(patch, node=pixel_values, filters={features}, kernel={patch}, "
            f"strides={patch}{biased})"
        )

    def tokens(
        self,
        features: int,
        *,
        bias: bool = True,
        before: Sequence[str] = ("cls_token",),
        after: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Return the layers that put tokens before and after the patches, and add positions."""
        joined = ", ".join([*before, "patches", *after])
        return (
            self.cut(features, bias=bias),
            f"reshape([{features}, {self.patches}])",
            "transpose([1, 0], name=patches)",
            f"concat([{joined}], axis=0)" if before or after else "",
            "positionalEmbedding(position_embeddings)",
        )

    def parameters(
        self, block: str, features: int, *, tokens: Mapping[str, int] = {"cls_token": 1}
    ) -> tuple[str, ...]:
        """Return the statements of the parameters of `tokens`, by name and number."""
        count = self.patches + sum(tokens.values())
        return (
            *(f"{block}:param {name} shape=[{n}, {features}]" for name, n in tokens.items()),
            f"{block}:param position_embeddings shape=[{count}, {features}]",
        )


def check_patches(config: Config, key: str, seen: Picture) -> Picture:
    """Return a picture that has at least a patch, and not too many.

    Raises `DataError` NNM818, about a key of the config, for another.
    """
    if 0 < seen.patches <= MAX_PATCHES:
        return seen
    hint = f"pictures have at least a patch, and up to {MAX_PATCHES:,}"
    raise config.not_supported(key, [seen.height, seen.width], hint)


def picture(config: Config, *, size: int | list[int] = 224, patch: int | None = 16) -> Picture:
    """Return the image sizes in a config; without patches, those of a network of convolutions.

    Raises `DataError` NNM818 for invalid sizes.
    """
    height, width = config.pair("image_size", size)
    if patch is None:
        height, width = config.pair("picture_size", [height, width])
        return Picture(config.size("num_channels", 3), height, width, (1, 1))
    cut = config.pair("patch_size", patch)
    if height < cut[0] or width < cut[1]:
        message = f'config.json: "image_size" is {height} x {width}, smaller than a patch'
        raise DataError("NNM818", message, hint='"patch_size" is the height and width of a patch')
    image = Picture(config.size("num_channels", 3), height, width, cut)
    return check_patches(config, "image_size", image)
