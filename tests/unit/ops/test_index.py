"""The index of operators."""

from __future__ import annotations

from importlib import import_module

import pytest

from webnnm import ops
from webnnm.ops.index import MODULES


@pytest.mark.parametrize("module", sorted({*MODULES.values()}))
def test_the_index_names_the_module_that_declares_an_operator(module: str) -> None:
    values = vars(import_module(f"webnnm.ops.{module}")).values()
    for method in (name for name, home in MODULES.items() if home == module):
        assert any(value is ops.method(method) for value in values), method


def test_every_operator_of_the_notation_and_of_builders_is_in_the_index() -> None:
    assert {*MODULES} == {*ops.methods()}


def test_other_names_are_no_operators() -> None:
    assert ops.method("soft_max") is None and ops.lookup("sofmax") is None
