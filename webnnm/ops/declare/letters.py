"""Layouts as letters, and how one layout becomes another."""

FILTER_LAYOUTS = ("oihw", "hwio", "ohwi", "ihwo")
TRANSPOSED_FILTER_LAYOUTS = ("iohw", "hwoi", "ohwi")


def order(source: str, target: str) -> tuple[int, ...]:
    """Return the permutation that takes one order of letters to another.

    >>> order("nchw", "nhwc")
    (0, 2, 3, 1)
    """
    return tuple(source.index(letter) for letter in target)
