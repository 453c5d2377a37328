"""The cases that are compared with PyTorch, as data: operator, shapes of operands, options.

Options are those of WebNN with its meaning; `torch_reference` says the same in PyTorch's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webnnm.core.shapes import Shape

MOST_ELEMENTS = 200
"""A tensor of a case is no larger than this: fixtures are committed."""


@dataclass(frozen=True)
class Case:
    """One call of one operator; an optional operand that is absent has None for a shape.

    `reference` names what PyTorch has for it where that is not known by the operator's name.
    `drawn` says of operands, by position, what else than normal numbers they are: "positive" or
    "small" ones, or a "mask" of zeros and ones in uint8; `weights` says it of the weights.
    """

    operator: str
    about: str
    shapes: tuple[Shape | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reference: str = ""
    drawn: Mapping[int, str] = field(default_factory=dict[int, str])
    weights: str = "normal"

    def __str__(self) -> str:
        return f"{self.operator}-{self.about.replace(' ', '-')}"


def _cases(
    operator: str, *listed: tuple[str, Iterable[Shape | None], dict[str, Any]], **facts: Any
) -> tuple[Case, ...]:
    return tuple(Case(operator, about, tuple(shapes), o, **facts) for about, shapes, o in listed)


CONVOLUTIONS = (
    *_cases(
        "conv1d",
        ("strides and dilations", [(2, 2, 9), (3, 2, 3), (3,)], {"strides": 2, "dilations": 2}),
        (
            "nlc with groups and padding",
            [(1, 6, 4), (2, 2, 3)],
            {"input_layout": "nlc", "groups": 2, "padding": (2, 1)},
        ),
    ),
    *_cases(
        "conv2d",
        ("plain", [(2, 2, 4, 5), (3, 2, 2, 3)], {}),
        ("strides and bias", [(1, 3, 5, 7), (2, 3, 3, 2), (2,)], {"strides": (2, 3)}),
        ("padding", [(1, 2, 4, 5), (2, 2, 3, 3)], {"padding": (1, 1, 2, 2)}),
        ("asymmetric padding", [(2, 1, 4, 3), (2, 1, 3, 2), (2,)], {"padding": (1, 0, 0, 2)}),
        ("dilations", [(1, 2, 7, 6), (2, 2, 3, 2)], {"dilations": (2, 3)}),
        ("groups", [(2, 4, 3, 4), (6, 2, 2, 2), (6,)], {"groups": 2}),
        ("depthwise", [(1, 3, 5, 4), (6, 1, 3, 2)], {"groups": 3, "padding": (1, 1, 0, 1)}),
        (
            "rows left over by the strides",
            [(1, 2, 6, 8), (2, 2, 2, 2)],
            {"strides": (3, 5), "padding": (0, 1, 1, 0)},
        ),
        (
            "nhwc and ohwi",
            [(1, 5, 4, 3), (2, 3, 2, 3), (2,)],
            {"input_layout": "nhwc", "filter_layout": "ohwi", "strides": (2, 1)},
        ),
        (
            "nhwc and hwio in groups",
            [(1, 4, 5, 4), (2, 3, 2, 4), (4,)],
            {"input_layout": "nhwc", "filter_layout": "hwio", "groups": 2, "dilations": (1, 2)},
        ),
        (
            "nhwc depthwise and ihwo",
            [(1, 4, 5, 3), (1, 3, 2, 3)],
            {"input_layout": "nhwc", "filter_layout": "ihwo", "groups": 3},
        ),
        ("nchw and hwio", [(2, 2, 3, 4), (2, 2, 2, 3)], {"filter_layout": "hwio"}),
    ),
    *_cases(
        "convTranspose2d",
        ("plain", [(1, 2, 3, 4), (2, 3, 2, 3)], {}),
        ("strides and bias", [(1, 2, 3, 2), (2, 2, 3, 2), (2,)], {"strides": (2, 3)}),
        ("padding", [(2, 1, 4, 3), (1, 2, 3, 3)], {"strides": (2, 1), "padding": (1, 1, 2, 2)}),
        (
            "asymmetric padding",
            [(1, 1, 3, 4), (1, 2, 3, 4), (2,)],
            {"strides": (2, 2), "padding": (0, 1, 2, 1)},
        ),
        (
            "output padding",
            [(1, 2, 3, 2), (2, 2, 3, 2)],
            {"strides": (3, 2), "output_padding": (2, 1), "padding": (1, 1, 0, 0)},
        ),
        (
            "output sizes",
            [(1, 1, 2, 3), (1, 2, 3, 2)],
            {"strides": (4, 3), "output_sizes": (8, 9), "padding": (0, 0, 1, 0)},
        ),
        ("dilations", [(1, 2, 3, 3), (2, 1, 2, 3)], {"dilations": (2, 2), "strides": (1, 2)}),
        ("groups", [(2, 4, 2, 3), (4, 3, 2, 2), (6,)], {"groups": 2, "strides": (2, 1)}),
        (
            "nhwc and ohwi",
            [(1, 3, 2, 3), (2, 2, 3, 3), (2,)],
            {"input_layout": "nhwc", "filter_layout": "ohwi", "padding": (0, 1, 1, 0)},
        ),
        (
            "nhwc and hwoi in groups",
            [(1, 2, 3, 4), (3, 2, 1, 4)],
            {"input_layout": "nhwc", "filter_layout": "hwoi", "groups": 2, "strides": (2, 2)},
        ),
    ),
)

POOLINGS = (
    *_cases(
        "averagePool2d",
        ("whole image", [(2, 2, 3, 4)], {}),
        ("windows", [(1, 2, 5, 6)], {"window_dimensions": (2, 3), "strides": (2, 1)}),
        ("padding", [(1, 2, 5, 4)], {"window_dimensions": (3, 2), "padding": (1, 1, 1, 1)}),
        (
            "asymmetric padding",
            [(2, 1, 4, 5)],
            {"window_dimensions": (3, 3), "padding": (0, 2, 1, 0), "strides": (2, 2)},
        ),
        (
            "ceil",
            [(1, 2, 6, 5)],
            {
                "window_dimensions": (3, 2),
                "strides": (2, 2),
                "padding": (1, 1, 0, 0),
                "output_shape_rounding": "ceil",
            },
        ),
        (
            "nhwc",
            [(1, 5, 4, 2)],
            {"window_dimensions": (2, 3), "padding": (1, 1, 1, 1), "layout": "nhwc"},
        ),
    ),
    *_cases(
        "maxPool2d",
        ("whole image", [(2, 2, 3, 4)], {}),
        ("windows", [(1, 2, 5, 6)], {"window_dimensions": (2, 3), "strides": (2, 1)}),
        (
            "asymmetric padding",
            [(2, 1, 4, 5)],
            {"window_dimensions": (3, 3), "padding": (0, 2, 1, 0), "strides": (2, 2)},
        ),
        (
            "dilations",
            [(1, 2, 7, 6)],
            {"window_dimensions": (3, 2), "dilations": (2, 3), "padding": (1, 1, 1, 1)},
        ),
        (
            "ceil",
            [(1, 2, 6, 5)],
            {"window_dimensions": (3, 2), "strides": (2, 2), "output_shape_rounding": "ceil"},
        ),
        ("nhwc", [(1, 5, 4, 2)], {"window_dimensions": (3, 2), "layout": "nhwc"}),
    ),
    *_cases(
        "l2Pool2d",
        ("whole image", [(2, 2, 3, 4)], {}),
        ("windows", [(1, 2, 5, 6)], {"window_dimensions": (2, 3), "strides": (2, 1)}),
        (
            "padding in nhwc",
            [(1, 5, 4, 2)],
            {"window_dimensions": (3, 2), "padding": (1, 0, 1, 1), "layout": "nhwc"},
        ),
    ),
)

NORMALISATIONS = (
    *_cases(
        "batchNormalization",
        ("plain", [(4, 3), (3,), (3,)], {}),
        ("scale and bias", [(2, 3, 2, 4), (3,), (3,), (3,), (3,)], {"epsilon": 1e-3}),
        ("last axis", [(2, 3, 4), (4,), (4,), None, (4,)], {"axis": 2}),
        drawn={2: "positive"},
    ),
    *_cases(
        "layerNormalization",
        ("plain", [(3, 8)], {}),
        ("last axis", [(2, 3, 8), (8,), (8,)], {"axes": (2,)}),
        ("axes in another order", [(2, 3, 4), (4, 2), (4, 2)], {"axes": (2, 0), "epsilon": 0.01}),
        ("bias alone", [(2, 3, 4), None, (3, 4)], {}),
    ),
    *_cases(
        "instanceNormalization",
        ("plain", [(2, 3, 2, 4)], {}),
        ("scale and bias", [(2, 3, 3, 4), (3,), (3,)], {"epsilon": 1e-3}),
        ("nhwc", [(2, 3, 4, 2), (2,), (2,)], {"layout": "nhwc"}),
    ),
    *_cases(
        "meanVarianceNormalization",
        ("one axis", [(2, 3, 8)], {"axes": (2,)}),
        ("all but the batch", [(2, 3, 4), None, None, (3, 4), (3, 4)], {}),
    ),
    *_cases(
        "meanVarianceNormalization",
        ("groups of channels", [(2, 2, 3, 2, 2)], {"axes": (2, 3, 4)}),
        (
            "groups with scale and bias",
            [(2, 2, 2, 3, 2), None, None, (2, 2, 1, 1), (2, 2, 1, 1)],
            {"axes": (2, 3, 4), "epsilon": 1e-3},
        ),
        reference="group",
    ),
    *_cases(
        "meanVarianceNormalization",
        ("the batch", [(4, 2, 3), None, None, (2, 1), (2, 1)], {"axes": (0, 2)}),
        reference="batch",
    ),
    *_cases(
        "meanVarianceNormalization",
        ("mean and variance given", [(4, 3), (3,), (3,), (3,), (3,)], {"axes": (0,)}),
        reference="given",
        drawn={2: "positive"},
    ),
    *_cases(
        "rmsNorm",
        ("plain", [(3, 6)], {}),
        ("scale", [(2, 3, 6), (6,)], {"epsilon": 0.01}),
        ("axes in another order", [(2, 3, 4), (4, 2)], {"axes": (2, 0)}),
    ),
)

# Small weights: gates that are nearly closed leave differences of nearly equal numbers.
RECURRENCES = (
    *_cases(
        "lstm",
        ("plain", [(3, 2, 3), (1, 8, 3), (1, 8, 2)], {"steps": 3, "hidden_size": 2}),
        (
            "sequence and biases",
            [(4, 2, 3), (1, 8, 3), (1, 8, 2), (1, 8), (1, 8)],
            {"return_sequence": True, "layout": "ifgo"},
        ),
        (
            "backward from states",
            [(3, 2, 2), (1, 12, 2), (1, 12, 3), (1, 12), None, None, (1, 2, 3), (1, 2, 3)],
            {"direction": "backward", "return_sequence": True},
        ),
        (
            "both from states",
            [(3, 2, 3), (2, 8, 3), (2, 8, 2), (2, 8), (2, 8), None, (2, 2, 2), (2, 2, 2)],
            {"direction": "both", "return_sequence": True},
        ),
        (
            "both in ifgo",
            [(3, 1, 2), (2, 8, 2), (2, 8, 2)],
            {"direction": "both", "layout": "ifgo"},
        ),
        drawn=dict.fromkeys((1, 2, 3, 4), "small"),
    ),
    *_cases(
        "gru",
        ("plain", [(3, 2, 3), (1, 6, 3), (1, 6, 2)], {"steps": 3, "hidden_size": 2}),
        (
            "sequence and biases",
            [(4, 2, 3), (1, 6, 3), (1, 6, 2), (1, 6), (1, 6)],
            {"return_sequence": True, "layout": "rzn"},
        ),
        (
            "backward from a state",
            [(3, 2, 2), (1, 9, 2), (1, 9, 3), None, (1, 9), (1, 2, 3)],
            {"direction": "backward", "return_sequence": True},
        ),
        (
            "both from states",
            [(3, 2, 3), (2, 6, 3), (2, 6, 2), (2, 6), (2, 6), (2, 2, 2)],
            {"direction": "both", "return_sequence": True},
        ),
        ("both in rzn", [(3, 1, 2), (2, 6, 2), (2, 6, 2)], {"direction": "both", "layout": "rzn"}),
        drawn=dict.fromkeys((1, 2, 3, 4), "small"),
    ),
    *_cases(
        "lstmCell",
        ("plain", [(2, 3), (8, 3), (8, 2), (2, 2), (2, 2)], {}),
        (
            "biases in ifgo",
            [(2, 3), (12, 3), (12, 3), (2, 3), (2, 3), (12,), (12,)],
            {"layout": "ifgo", "hidden_size": 3},
        ),
        drawn=dict.fromkeys((1, 2, 5, 6), "small"),
    ),
    *_cases(
        "gruCell",
        ("plain", [(2, 3), (6, 3), (6, 2), (2, 2)], {}),
        (
            "biases in rzn",
            [(2, 3), (9, 3), (9, 3), (2, 3), (9,), (9,)],
            {"layout": "rzn", "hidden_size": 3},
        ),
        drawn=dict.fromkeys((1, 2, 4, 5), "small"),
    ),
)

ATTENTION = (
    *_cases(
        "attend",
        ("plain", [(3, 4), (5, 4), (5, 6)], {}),
        ("heads", [(2, 3, 6), (2, 4, 6), (2, 4, 8)], {"heads": 2}),
        ("causal", [(2, 4, 4)] * 3, {"heads": 2, "causal": True}),
        ("causal with a past", [(2, 3, 4), (2, 5, 4), (2, 5, 4)], {"causal": True}),
        (
            "shared keys and values",
            [(2, 3, 8), (2, 5, 4), (2, 5, 4)],
            {"heads": 4, "kv_heads": 2, "causal": True},
        ),
        ("added mask", [(2, 3, 4), (2, 4, 4), (2, 4, 4), (3, 4)], {"heads": 2}),
    ),
    *_cases(
        "attend",
        ("mask per key", [(2, 3, 4), (2, 4, 4), (2, 4, 4), (2, 1, 1, 4)], {"heads": 2}),
        ("mask per pair", [(3, 4), (5, 4), (5, 4), (3, 5)], {}),
        drawn={3: "mask"},
    ),
)

ACTIVATIONS = (
    *_cases("gelu", ("plain", [(3, 5)], {})),
    *_cases("softplus", ("plain", [(3, 5)], {})),
    *_cases("elu", ("plain", [(3, 5)], {}), ("alpha", [(3, 5)], {"alpha": 0.25})),
    *_cases("prelu", ("slope per channel", [(2, 3, 4), (3, 1)], {})),
    # The gradient for one slope is one sum, in which terms of both signs would cancel.
    *_cases("prelu", ("one slope", [(3, 5), ()], {}), weights="positive"),
)

RESAMPLINGS = _cases(
    "resample2d",
    ("nearest", [(1, 2, 2, 3)], {"scales": (2.0, 3.0)}),
    ("nearest to sizes", [(1, 2, 5, 3)], {"sizes": (3, 5)}),
    ("linear", [(1, 2, 2, 3)], {"mode": "linear", "scales": (3.0, 2.0)}),
    ("linear to sizes", [(1, 2, 5, 3)], {"mode": "linear", "sizes": (3, 7)}),
    ("linear in nhwc", [(1, 3, 4, 2)], {"mode": "linear", "sizes": (5, 3), "axes": (1, 2)}),
)

CASES = (
    *CONVOLUTIONS,
    *POOLINGS,
    *NORMALISATIONS,
    *RECURRENCES,
    *ATTENTION,
    *ACTIVATIONS,
    *RESAMPLINGS,
)
