"""Points of two classes in the plane: small data that show what a model learns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from webnnm.core.errors import DataError, suggestion

Point = tuple[float, float]
Points = tuple[list[Point], list[int]]
"""Points, and the class of each, 0 or 1."""

TURNS = 1.0
"""How often an arm of the spirals goes around."""
GAP = 0.08
"""Half the width of the empty cross between the squares of XOR."""
FEATURES: Mapping[str, Callable[[float, float], float]] = {
    "x1": lambda x, _: x,
    "x2": lambda _, y: y,
    "x1²": lambda x, _: x * x,
    "x2²": lambda _, y: y * y,
    "x1·x2": lambda x, y: x * y,
    "sin x1": lambda x, _: math.sin(math.pi * x),
    "sin x2": lambda _, y: math.sin(math.pi * y),
}
"""The features of a point, by name. The sines have the period of the plane."""


def make_moons(rows: int = 200, *, noise: float = 0.1, seed: int = 0) -> Points:
    """Return two interleaving half circles.

    >>> points, classes = make_moons(2, noise=0)
    >>> [(round(x, 3), round(y, 3)) for x, y in points], classes
    ([(-0.333, 0.5), (0.333, -0.5)], [0, 1])

    - `rows`: how many points, of both classes in turn.
    - `noise`: the standard deviation of the noise added to both coordinates.
    - `seed`: the same seed gives the same points.

    All are centred at 0, from -1 to 1 without noise. Raises `DataError` NNM704 for fewer than two
    points, or negative noise.
    """

    def place(number: int, share: float, random: Random) -> Point:
        x, y = math.cos(math.pi * share), math.sin(math.pi * share)
        return (1 - x, 0.5 - y) if number else (x, y)

    return _generate_points(rows, noise, seed, place, scale=1 / 1.5, middle=(0.5, 0.25))


def make_circles(rows: int = 200, *, noise: float = 0.1, seed: int = 0) -> Points:
    """Return a circle within another of twice its size.

    >>> points, classes = make_circles(4, noise=0)
    >>> [round(math.hypot(*point), 3) for point in points], classes
    ([1.0, 0.5, 1.0, 0.5], [0, 1, 0, 1])

    Arguments and errors are those of `make_moons`.
    """

    def place(number: int, share: float, random: Random) -> Point:
        angle, radius = 2 * math.pi * share, 0.5 if number else 1.0
        return radius * math.cos(angle), radius * math.sin(angle)

    return _generate_points(rows, noise, seed, place)


def make_spirals(rows: int = 200, *, noise: float = 0.05, seed: int = 0) -> Points:
    """Return two intertwined spiral arms.

    >>> points, classes = make_spirals(4, noise=0)
    >>> [round(math.hypot(*point), 3) for point in points], classes
    ([0.325, 0.325, 0.775, 0.775], [0, 1, 0, 1])

    Arguments and errors are those of `make_moons`.
    """

    def place(number: int, share: float, random: Random) -> Point:
        radius = 0.1 + 0.9 * share
        angle = 2 * math.pi * TURNS * share + math.pi * number
        return radius * math.cos(angle), radius * math.sin(angle)

    return _generate_points(rows, noise, seed, place)


def make_xor(rows: int = 200, *, noise: float = 0.05, seed: int = 0) -> Points:
    """Return four squares; those that touch at a corner have the same class.

    >>> points, classes = make_xor(100, noise=0)
    >>> all((x * y > 0) == (number == 0) for (x, y), number in zip(points, classes))
    True

    Arguments and errors are those of `make_moons`.
    """

    def place(number: int, share: float, random: Random) -> Point:
        x, y = (GAP + (1 - GAP) * random.random() for _ in range(2))
        left = random.random() < 0.5
        return (-x if left else x), (-y if left != (number == 1) else y)

    return _generate_points(rows, noise, seed, place)


def plane_features(points: Iterable[Sequence[float]], names: Sequence[str]) -> list[list[float]]:
    """Return the features of points, a row for each.

    >>> plane_features([(0.5, 2.0)], ["x1", "x2²", "x1·x2"])
    [[0.5, 4.0, 1.0]]

    `names` are some of `FEATURES`. Raises `DataError` NNM710 for an unknown name, NNM704 without
    names.
    """
    for name in names:
        if not isinstance(name, str) or name not in FEATURES:
            hint = suggestion(str(name), FEATURES) or f"available: {', '.join(FEATURES)}"
            raise DataError("NNM710", f'no feature "{name}" of points', hint=hint)
    if not names:
        raise DataError("NNM704", "no features", hint=f"available: {', '.join(FEATURES)}")
    chosen = [FEATURES[name] for name in names]
    return [[feature(point[0], point[1]) for feature in chosen] for point in points]


def _generate_points(
    rows: int,
    noise: float,
    seed: int,
    sample_point: Callable[[int, float, Random], Point],
    *,
    scale: float = 1.0,
    middle: Point = (0.0, 0.0),
) -> Points:
    """Return points of both classes in turn, spread evenly over the shape of each."""
    if not hasattr(rows, "__index__") or rows < 2 or not 0 <= noise < math.inf:
        hint = "rows is an integer from 2, noise a number from 0"
        raise DataError("NNM704", f"rows={rows!r}, noise={noise!r}", hint=hint)
    random = Random(seed)
    points: list[Point] = []
    classes = [row % 2 for row in range(rows)]
    for row, number in enumerate(classes):
        share = (row // 2 + 0.5) / -(-(rows - number) // 2)
        x, y = sample_point(number, share, random)
        x, y = scale * (x - middle[0]), scale * (y - middle[1])
        points.append((x + random.gauss(0, noise), y + random.gauss(0, noise)))
    return points, classes
