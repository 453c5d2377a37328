"""Networks that find what texts name, and detectors of several scales."""

from __future__ import annotations

from tests.parity.pretrained.case import Case
from tests.parity.pretrained.families.vision import SIGLIP_TEXT, VIT

OWL = {
    "text_config": {**SIGLIP_TEXT, "hidden_act": "gelu"},
    "vision_config": VIT,
    "projection_dim": 12,
}
OWL_OUTPUTS = ("logits", "pred_boxes", "class_embeds")

CASES = [
    Case("owlvit", "OwlViTForObjectDetection", OWL, pictures=1, outputs=OWL_OUTPUTS),
    Case(
        "owlv2",
        "Owlv2ForObjectDetection",
        {**OWL, "vision_config": {**VIT, "image_size": 12, "hidden_act": "relu"}},
        pictures=1,
        outputs=(*OWL_OUTPUTS, "objectness_logits"),
    ),
]
