"""Checking and formatting texts without a backend."""

from __future__ import annotations

import pytest

from webnnm import NNModel, NotationError, check, format_model, parse

GOOD = "m:input shape=[4]; m:output shape=[4]; m:layers relu();"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (GOOD, []),
        (GOOD + " n:layers tanh();", [("NNM001", 1, 57)]),
        (GOOD.replace(";", "", 1), [("NNM104", 1, 19)]),
        (
            "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), relu(), matmul(w), tanh();",
            [("NNM403", 1, 56), ("NNM403", 1, 75), ("NNM403", 1, 49), ("NNM403", 1, 60)],
        ),
    ],
)
def test_check_lists_errors_or_warnings(text: str, found: list[tuple[str, int, int]]) -> None:
    assert [(each.code, each.line, each.column) for each in check(text)] == found


async def test_format_takes_a_text_a_tree_or_a_model() -> None:
    pytest.importorskip("numpy")
    canonical = "m:input shape=[4];\nm:output shape=[4];\nm:layers\n  relu();\n"
    model = await NNModel.create(source=GOOD, log=lambda _: None)
    assert [format_model(each) for each in (GOOD, parse(GOOD), model)] == [canonical] * 3


def test_format_refuses_what_is_not_a_model() -> None:
    with pytest.raises(NotationError):
        format_model("m:input shape=[4")
