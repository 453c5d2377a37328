"""The cases computed by `transformers`: configs, weights and outputs are its own."""

from __future__ import annotations

from typing import Any, cast

import torch
import transformers

from tests.parity.pretrained.cases import Case
from tests.parity.pretrained.fixtures import Arrays, Fixture, draw_inputs, draw_weights


def computed(case: Case, seed: int) -> Fixture:
    """Return the config, the shapes of the weights, inputs of a seed, and outputs."""
    kind: Any = getattr(transformers, case.architecture)
    config = kind.config_class(**case.config)
    config.architectures = [case.architecture]
    model = kind(config).eval()
    state = saved(model)
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    drawn = draw_weights(shapes, seed)
    with torch.no_grad():
        for name, tensor in state.items():
            tensor.copy_(torch.from_numpy(drawn[name]))
    inputs = draw_inputs(case, config.to_dict(), seed)
    given = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.no_grad():
        outputs = model(**given, return_dict=True)
    found: Arrays = {
        name: value.numpy()
        for name, value in outputs.items()
        if isinstance(value, torch.Tensor) and name in WANTED
    }
    return Fixture(cast("dict[str, Any]", config.to_diff_dict()), shapes, inputs, found)


WANTED = ("logits", "last_hidden_state", "pooler_output", "encoder_last_hidden_state")


def saved(model: Any) -> dict[str, torch.Tensor]:
    """Return the tensors that a file of the model has: those that are tied once."""
    seen: set[int] = set()
    found: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = tensor.detach()
    return found
