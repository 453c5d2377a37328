"""Networks that classify pictures on small devices, and joint ones for pictures of any shape."""

from __future__ import annotations

from functools import partial

from tests.parity.pretrained.case import Case

see = partial(Case, inputs=(), batch=2)

CASES = [
    see(
        "timm-mobilenet3",
        "TimmWrapperForImageClassification",
        {"architecture": "mobilenetv3_small_050", "num_labels": 3},
        image=(19, 24),
    ),
    see(
        "timm-mobilenet3-same",
        "TimmWrapperModel",
        {"architecture": "tf_mobilenetv3_small_minimal_100", "num_labels": 3},
        batch=1,
        image=(30, 19),
    ),
    see(
        "timm-mobilenet4",
        "TimmWrapperForImageClassification",
        {"architecture": "mobilenetv4_conv_small_035", "num_labels": 3},
        image=(19, 24),
    ),
    see(
        "timm-mobilenet4-hybrid",
        "TimmWrapperForImageClassification",
        {"architecture": "mobilenetv4_hybrid_medium_075", "num_labels": 3},
        batch=1,
        image=(40, 33),
        scale=0.3,
    ),
]
