"""The cases of timm, whose networks `TimmWrapper` classes of `transformers` call.

timm imports torchvision, for training data and filters that these networks do not use, and
`transformers` prefers processors of torchvision wherever that is installed: a stand-in is imported
instead.
"""

from __future__ import annotations

import json
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import save_file

from tests.parity.pretrained.case import Case

PREFIX = "TimmWrapper"
"""What the classes of `transformers` begin with."""


def is_timm(case: Case) -> bool:
    """Return whether a case is a network of timm."""
    return case.architecture.startswith(PREFIX)


def is_installed() -> bool:
    """Return whether timm can be imported; `make parity` works without it."""
    return find_spec("timm") is not None


class _AnyName(type):
    """A class with any attributes."""

    def __getattr__(cls, key: str) -> str:
        if key.startswith("__"):
            raise AttributeError(key)
        return key


class _StandIn:
    """Finds modules of torchvision, with any names in them."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        own = name.partition(".")[0] == "torchvision"
        return ModuleSpec(name, self, is_package=True) if own else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        class Module(ModuleType):
            def __getattr__(self, key: str) -> Any:
                if key.startswith("__"):
                    raise AttributeError(key)
                return _AnyName(key, (torch.nn.Module,), {})

        return Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


def import_timm() -> Any:
    """Return timm, imported without torchvision."""
    if "timm" not in sys.modules and find_spec("torchvision") is None:
        finder: Any = _StandIn()
        sys.meta_path.append(finder)
        try:
            import timm
        finally:
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
        return timm
    import timm

    return timm


class Network(torch.nn.Module):
    """A network of timm with the outputs of a class of `transformers`."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.classifies = case.architecture.endswith("ForImageClassification")
        settings = dict(case.config)
        classes = settings.pop("num_labels") if self.classifies else 0
        self.timm_model = import_timm().create_model(settings["architecture"], num_classes=classes)

    def save(self, folder: str, case: Case) -> None:
        """Write the files of a folder as timm does, with what `transformers` adds to configs."""
        from timm.models._hub import save_config_for_hf

        save_config_for_hf(self.timm_model, str(Path(folder, "config.json")))
        config = json.loads(Path(folder, "config.json").read_text())
        config |= {"model_type": "timm_wrapper", "architectures": [case.architecture]}
        Path(folder, "config.json").write_text(json.dumps(config))
        save_file(self.timm_model.state_dict(), Path(folder, "model.safetensors"))

    def forward(self, pixel_values: Any, return_dict: bool = True) -> dict[str, Any]:
        assert return_dict
        states = self.timm_model.forward_features(pixel_values)
        result = self.timm_model.forward_head(states)
        if self.classifies:
            return {"logits": result}
        return {"last_hidden_state": states, "pooler_output": result}
