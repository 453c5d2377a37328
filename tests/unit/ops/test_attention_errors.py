"""Wrong operands and options of attention, embeddings and positions (spec C.9)."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import GraphBuilder
from webnnm.ops.declare.tensors import OperatorError

Given = tuple[str, tuple[int, ...]]
FLOAT: tuple[Given, ...] = (("float32", (3, 4)),) * 3


def halves(*shapes: tuple[int, ...]) -> tuple[Given, ...]:
    return tuple(("float32", shape) for shape in shapes)


@pytest.mark.parametrize(
    ("code", "name", "operands", "options", "says"),
    [
        ("NNM501", "attend", (("int32", (3, 4)), *FLOAT[1:]), {}, 'q of "attend" is int32'),
        ("NNM501", "attend", (FLOAT[0], ("float16", (3, 4)), FLOAT[2]), {}, "float32 and float16"),
        ("NNM405", "attend", halves((4,), (3, 4), (3, 4)), {}, "needs rank 2"),
        ("NNM405", "attend", (*FLOAT, ("uint8", ())), {}, 'mask of "attend" is uint8[]'),
        ("NNM406", "attend", FLOAT, {"heads": 3}, "q [3, 4]: 4 features, 3 heads"),
        ("NNM406", "attend", FLOAT, {"heads": 4, "kv_heads": 3}, "4 heads are not a multiple of 3"),
        ("NNM406", "attend", FLOAT, {"heads": 4, "rope": True}, "does not split into pairs"),
        ("NNM404", "attend", halves((3, 4), (3, 6), (3, 6)), {"heads": 2}, "differ in size"),
        ("NNM401", "attend", halves((3, 4), (3, 4), (2, 4)), {}, "number of tokens"),
        ("NNM401", "attend", (*FLOAT, ("uint8", (2,))), {}, "mask [2], but scores"),
        ("NNM401", "attend", halves((2, 3, 4), (5, 3, 4), (5, 3, 4)), {}, "do not broadcast"),
        ("NNM303", "attend", FLOAT, {"heads": 0}, "0 is not an integer from 1"),
        ("NNM303", "attend", FLOAT, {"kv_heads": 1.5}, "1.5 is not an integer"),
        ("NNM303", "attend", FLOAT, {"rope": -1}, "-1.0 is not above 0"),
        ("NNM303", "attend", FLOAT, {"causal": 1}, "1 is neither true nor false"),
        (
            "NNM303",
            "attend",
            halves((3, 4), (2, 4), (2, 4)),
            {"window": 2},
            "window=2 needs keys that are the same tokens",
        ),
        ("NNM303", "attend", FLOAT, {"causal": True, "window": 0}, "0 is not an integer from 1"),
        ("NNM303", "attend", FLOAT, {"scale": 0}, "0.0 is not above 0"),
        ("NNM303", "attend", FLOAT, {"softcap": -1}, "-1.0 is not above 0"),
        ("NNM303", "attend", FLOAT, {"alibi": True}, "biases are for causal attention"),
        ("NNM406", "attend", FLOAT, {"causal": True, "alibi": [1, 2]}, "2 slopes for 1 heads"),
        ("NNM406", "attend", FLOAT, {"rope": True, "rotary_size": 6}, "6 features to rotate"),
        ("NNM406", "attend", FLOAT, {"rope": True, "rotary_size": 3}, "does not split into pairs"),
        ("NNM404", "attend", (*FLOAT, *(None,) * 8, *halves((2,))), {}, "sinks [2] for 1 heads"),
        ("NNM302", "attend", (*FLOAT, *(None,) * 9, *halves((3, 1))), {}, "without relative_bias"),
        (
            "NNM404",
            "attend",
            (*FLOAT, None, *halves((4, 1)), *(None,) * 7, *halves((2, 1))),
            {},
            "[2, 1]: not a number per token and head",
        ),
        ("NNM404", "attend", (*FLOAT, None, *halves((4, 2))), {}, "[4, 2], not [an even number"),
        (
            "NNM404",
            "attend",
            (*FLOAT, None, *halves((3, 1))),
            {},
            "distances is [3, 1]",
        ),
        ("NNM301", "attend", FLOAT, {"head": 2}, 'has no option "head"'),
        ("NNM302", "attend", FLOAT[:2], {}, "takes 3 to 16 operands, 2 given"),
        ("NNM501", "embedding", halves((2,), (4, 3)), {}, 'x of "embedding" is float32'),
        ("NNM405", "embedding", (("int32", (2,)), ("float32", (4,))), {}, "needs rank 2"),
        ("NNM302", "embedding", (("int32", (2,)),), {}, "takes 2 operands, 1 given"),
        ("NNM711", "positional_embedding", halves((5, 3), (4, 3)), {}, "5 tokens"),
        ("NNM404", "positional_embedding", halves((4, 3), (4, 2)), {}, "3 features, table [4, 2]"),
        ("NNM405", "positional_encoding", halves((3,)), {}, "needs rank 2"),
        ("NNM303", "positional_encoding", halves((2, 3)), {"base": 0}, "0.0 is not above 0"),
        ("NNM406", "rotary_embedding", halves((2, 3)), {}, "3 features does not split into pairs"),
        ("NNM406", "rotary_embedding", halves((2, 4)), {"heads": 3}, "4 features, 3 heads"),
        ("NNM303", "rotary_embedding", halves((2, 4)), {"start": 0.5}, "0.5 is not an integer"),
    ],
)
def test_wrong_calls(
    code: str, name: str, operands: tuple[Given, ...], options: dict[str, Any], says: str
) -> None:
    b = GraphBuilder()
    given = [one and b.input(f"x{i}", *one) for i, one in enumerate(operands)]  # type: ignore[arg-type]
    with pytest.raises(OperatorError) as caught:
        getattr(b, name)(*given, **options)
    assert (caught.value.code, says in caught.value.message) == (code, True), caught.value
