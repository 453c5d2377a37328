"""A small fixed part of the fuzzer: some cases of every target, and all that were kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.frame import Target, search, targets
from tools.common import SITE

every_target = pytest.mark.parametrize("name", targets())
KEPT = [(name, path) for name, target in targets().items() for path in target.kept()]


@pytest.fixture(scope="module", autouse=True)
def closing() -> Iterator[None]:
    """End what the targets opened."""
    yield
    for target in targets().values():
        target.close()


def ready(name: str) -> Target:
    target = targets()[name]
    if target.browser and not SITE.exists():
        pytest.fail("build/site does not exist: run `make test`, which builds it")
    return target


@every_target
def test_drawn_cases_are_handled(name: str) -> None:
    target = ready(name)
    outcome = search(target, target.examples)
    print(name, dict(outcome.counts))
    if outcome.error is not None:
        pytest.fail(f"{outcome.error}\n{target.save(outcome.case)}")


@pytest.mark.parametrize(("name", "path"), KEPT, ids=[f"{n}-{p.stem}" for n, p in KEPT])
def test_kept_cases_are_handled(name: str, path: Path) -> None:
    ready(name).replay(path)


@every_target
def test_cases_are_written_and_read_back(name: str) -> None:
    target, drawn = targets()[name], list[Any]()
    search(replace(target, check=drawn.append), 5)
    texts = [target.save(case) for case in drawn]
    assert texts
    assert [target.save(target.load(text)) for text in texts] == texts


class Fault(Exception):
    """What the target of the tests below raises."""


def test_a_fault_is_shrunk_and_found_again_with_its_seed() -> None:
    def check(case: int) -> None:
        if case > 1000:
            raise Fault(case)

    from hypothesis import strategies as st

    target = Target(
        name="numbers",
        cases=st.integers(0, 10**6),
        check=check,
        save=str,
        load=int,
        suffix=".txt",
        examples=10,
    )
    found = [search(target, 100, seed=7) for _ in range(2)]
    assert [outcome.case for outcome in found] == [1001, 1001]
    assert isinstance(found[0].error, Fault)
