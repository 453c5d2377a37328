"""Cases by family of models; each family has a file of fixtures of the same name beside it."""

from __future__ import annotations

from tests.parity.pretrained.families import (
    decoders,
    detectors,
    diffusion,
    encoders,
    joint,
    language_models,
    long_texts,
    mobile_vision,
    pictures,
    sequence_to_sequence,
    sounds,
    speech,
    vision,
)

FAMILIES = {
    "decoders": decoders.CASES,
    "language_models": language_models.CASES,
    "encoders": encoders.CASES,
    "pictures": pictures.CASES,
    "diffusion": diffusion.CASES,
    "sequence_to_sequence": sequence_to_sequence.CASES,
    "sounds": sounds.CASES,
    "speech": speech.CASES,
    "vision": vision.CASES,
    "joint": joint.CASES,
    "detectors": detectors.CASES,
    "long_texts": long_texts.CASES,
    "mobile_vision": mobile_vision.CASES,
}
CASES = [case for cases in FAMILIES.values() for case in cases]
