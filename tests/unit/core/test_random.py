"""Streams: the sequence of a seed is for ever the same."""

from __future__ import annotations

import struct

import pytest

from webnnm.core.random import Purpose, Stream


def single(number: float) -> float:
    """Round to float32."""
    return struct.unpack("f", struct.pack("f", number))[0]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (Stream(0, Purpose.INITIALISATION, "w1"), "e652bf18d1ebe98b21aa56c419ec5d55"),
        (Stream(42, Purpose.DROPOUT, "drop", 7), "bd25e115277339e9ba8f6a158089fae6"),
    ],
)
def test_bytes_never_change(stream: Stream, expected: str) -> None:
    assert stream.bytes(16).hex() == expected


def test_purposes_have_the_numbers_of_the_specification() -> None:
    assert {purpose.name: purpose.value for purpose in Purpose} == {
        "INITIALISATION": 1,
        "SHUFFLING": 2,
        "DROPOUT": 3,
        "SCOUTING": 4,
        "SPLITTING": 5,
        "RANDOMIZE": 6,
    }


@pytest.mark.parametrize("seed", [None, 0, -1, -(10**9)])
def test_missing_and_negative_seeds_mean_0(seed: int | None) -> None:
    assert Stream(seed, 1, "w1").bytes(4).hex() == "e652bf18"


def test_every_part_makes_another_stream() -> None:
    streams = [
        Stream(0, 1),
        Stream(1, 1),
        Stream(0, 2),
        Stream(0, 1, "a"),
        Stream(0, 1, "b"),
        Stream(0, 1, "a", 1),
        Stream(0, 1, 11),
        Stream(0, 1, 1, 1),
    ]
    assert len({stream.bytes(8) for stream in streams}) == len(streams)


def test_a_stream_goes_on_where_it_was() -> None:
    stream = Stream(3, 4)
    first, second = stream.bytes(8), stream.bytes(8)
    assert first != second
    again = Stream(3, 4)
    assert [again.bytes(4) for _ in range(4)] == [first[:4], first[4:], second[:4], second[4:]]


def test_uniform_numbers_never_change() -> None:
    # The formula of the specification applied to the bytes of random.Random("0:1:w1").
    exact = [0.13210907578468323, 0.6676532328128815, 0.339504212141037, 0.7677474319934845]
    assert list(Stream(0, 1, "w1").uniform(4)) == [single(number) for number in exact]


@pytest.mark.parametrize("n", [1, 2, 257])
def test_uniform_numbers_come_from_three_planes_of_bytes(n: int) -> None:
    b = Stream(5, 1, n).bytes(3 * n)
    numbers = Stream(5, 1, n).uniform(n)
    assert numbers.typecode == "f"
    for j in range(n):
        whole = b[j] + 256 * b[n + j] + 65536 * b[2 * n + j]
        assert numbers[j] == single((whole + 0.5) * 2**-24)
        assert 0 < numbers[j] <= 1


def test_uniform_numbers_are_uniform() -> None:
    numbers = Stream(0, 6).uniform(10_000)
    mean = sum(numbers) / len(numbers)
    variance = sum((x - mean) ** 2 for x in numbers) / len(numbers)
    assert mean == pytest.approx(1 / 2, abs=0.01)
    assert variance == pytest.approx(1 / 12, abs=0.005)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (Stream(0, Purpose.SHUFFLING, 1), [6, 3, 5, 9, 0, 8, 1, 2, 7, 4]),
        (Stream(7, Purpose.SPLITTING), [2, 9, 4, 1, 5, 6, 8, 11, 10, 7, 0, 3]),
    ],
)
def test_permutations_never_change(stream: Stream, expected: list[int]) -> None:
    assert stream.permutation(len(expected)) == expected


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_a_permutation_has_every_number_once(n: int) -> None:
    assert sorted(Stream(1, 2, n).permutation(n)) == list(range(n))


def test_every_permutation_occurs_equally_often() -> None:
    stream = Stream(0, 2)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6_000):
        order = tuple(stream.permutation(3))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(850 < found < 1_150 for found in counts.values())


def test_integers_are_words_by_rejection() -> None:
    stream = Stream(0, 2, 0)
    assert [stream.below(6) for _ in range(12)] == [1, 4, 4, 3, 2, 0, 4, 2, 4, 5, 0, 1]
    # Nearly half of the words are not a number below 2³¹ + 1 without a bias: they are left out.
    words = Stream(0, 2, 0)
    k = 2**31 + 1
    kept = [w for w in (int.from_bytes(words.bytes(4), "little") for _ in range(40)) if w < k]
    stream = Stream(0, 2, 0)
    assert len(kept) < 30
    assert [stream.below(k) for _ in kept] == kept
    assert kept[:4] == [288540868, 633370785, 1469667836, 913692988]
