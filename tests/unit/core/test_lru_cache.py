"""The cache of bounded size: which entries stay, and what is freed when."""

from __future__ import annotations

import pytest

from webnnm.core.lru_cache import LruCache


@pytest.fixture
def freed() -> list[str]:
    return []


@pytest.fixture
def cache(freed: list[str]) -> LruCache[int, str]:
    """Three values of a cache that has room for three."""
    made = LruCache[int, str](3, freed.append)
    for number, word in enumerate(("zero", "one", "two")):
        made[number] = word
    return made


def test_the_least_recently_used_value_leaves(cache: LruCache[int, str], freed: list[str]) -> None:
    assert cache.get(0) == "zero"
    cache[3] = "three"
    assert freed == ["one"]
    assert list(cache) == [2, 0, 3]
    assert cache.get(1) is None
    assert list(cache) == [2, 0, 3], "a key that is missing changes nothing"


def test_looking_is_not_using(cache: LruCache[int, str], freed: list[str]) -> None:
    assert 0 in cache
    assert len(cache) == 3
    assert dict(cache.items()) == {0: "zero", 1: "one", 2: "two"}
    assert list(cache.values()) == ["zero", "one", "two"]
    cache[3] = "three"
    assert freed == ["zero"]


def test_a_value_that_is_replaced_is_freed(cache: LruCache[int, str], freed: list[str]) -> None:
    cache[1] = "uno"
    assert freed == ["one"]
    assert list(cache) == [0, 2, 1]
    cache[1] = cache.get(1) or ""
    assert freed == ["one"], "the same value stays"


def test_values_can_be_freed_early(cache: LruCache[int, str], freed: list[str]) -> None:
    cache.discard(1)
    cache.discard(7)
    cache.free_oldest()
    assert freed == ["one", "zero"]
    cache.clear()
    assert freed == ["one", "zero", "two"]
    assert len(cache) == 0


def test_a_value_is_gone_before_it_is_freed() -> None:
    """What fails while it is freed is not freed again."""
    cache = LruCache[int, int](1, lambda value: 1 // value)
    cache[1] = 0
    with pytest.raises(ZeroDivisionError):
        cache[2] = 5
    assert list(cache) == [2]
    cache.clear()
