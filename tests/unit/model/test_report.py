"""The summary of a model and values as text."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.model.graph_text import graph_text
from webnnm.model.report import summary, view
from webnnm.notation import parse


def test_summary_lists_layers_shapes_and_parameters() -> None:
    text = """
    m:input shape=[4] sequence=words; m:output shape=[3]; q:param p shape=[4, 4] trainable=false;
    m:layers matmul(p), add(b), unit(name=u); unit:layers matmul(w, name=inner), softmax();
    """
    assert summary(elaborate(parse(text)), "a device").split("\n") == [
        "layer     result      parameters       count",
        "m:input   float32[4]",
        "matmul1   float32[4]  p [4, 4]            16",
        "add1      float32[4]  b1 [4]               4",
        "u.inner   float32[3]  w1 [4, 3]           12",
        "softmax1  float32[3]",
        "32 parameters, 16 trainable, running on a device",
    ]


def test_shared_parameter_is_counted_at_its_first_layer() -> None:
    text = "m:input shape=[2]; m:output shape=[2]; q:param p shape=[2, 2]; "
    lines = summary(elaborate(parse(text + "m:layers matmul(p), matmul(p);")), "").split("\n")
    assert [line.split()[-1] for line in lines[2:4]] == ["4", "float32[2]"]
    assert lines[-1].startswith("4 parameters, 4 trainable")


@pytest.mark.parametrize(
    ("data", "limit", "expected"),
    [
        ([[0.5, 1], [2, 3.25]], 11, "[2, 2] 0.500, 1.000, 2.000, 3.250"),
        (HostArray.of([1, 2, 3], "int32"), 11, "[3] 1, 2, 3"),
        (list(range(12)), 2, "[12] 0.000, 1.000, …"),
        (list(range(11)), 11, "[11] " + ", ".join(f"{n}.000" for n in range(11))),
        (7, 11, "[] 7.000"),
        (float("nan"), 11, "[] nan"),
    ],
    ids=repr,
)
def test_view(data: Any, limit: int, expected: str) -> None:
    assert view(data, limit) == expected


def test_graph_shows_casts_where_the_specification_puts_them() -> None:
    text = "m:input int32 shape=[5]; m:output float32 shape=[5]; "
    text += "m:layers add(1, dataType=float16), pow(2);"
    graph = lower_network(elaborate(parse(text))).graph()
    assert graph_text(graph, of_model=True).split("\n") == [
        "m:input   int32[1, 5]",
        "cast1     float16[1, 5]  cast(m:input, type=float16)",
        "add1      float16[1, 5]  add(cast1, 1)",
        "pow1      float16[1, 5]  pow(add1, 2)",
        "cast2     float32[1, 5]  cast(pow1, type=float32)",
        "m:output  float32[1, 5]  cast2",
    ]


def test_graph_shows_options_and_constants() -> None:
    text = "m:input shape=[2, 3]; m:output shape=[3]; m:layers add([1, 2, 3]), reduceSum(axis=0);"
    assert graph_text(lower_network(elaborate(parse(text))).graph()).split("\n") == [
        "m           float32[1, 2, 3]",
        "add1        float32[1, 2, 3]  add(m, constant float32[3])",
        "reduceSum1  float32[1, 3]     reduceSum(add1, axes=[1])",
        "m           float32[1, 3]     reduceSum1",
    ]
