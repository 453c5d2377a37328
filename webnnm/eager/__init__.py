"""Arrays that compute lazily: the Python array API standard on any backend, `jit` and `grad`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = ("random", "xp")
_HOME = {
    "composite": "composites",
    "cond": "control_flow",
    "fori_loop": "control_flow",
    "scan": "control_flow",
    "while_loop": "control_flow",
    "grad": "differentiation",
    "hessian": "differentiation",
    "jacfwd": "differentiation",
    "jacrev": "differentiation",
    "jvp": "differentiation",
    "value_and_grad": "differentiation",
    "vjp": "differentiation",
    "check_gradients": "gradient_check",
    "recompute": "gradient_rules",
    "custom_gradient": "gradient_rules",
    "jit": "jitted",
    "vmap": "mapping",
    "optimizer": "optimizers",
    "schedule": "schedules",
    "tree_leaves": "trees",
    "tree_map": "trees",
}
"""Public name → module; all are imported on first use."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"webnnm.eager.{name}")
    if name in _HOME:
        return getattr(import_module(f"webnnm.eager.{_HOME[name]}"), name)
    raise AttributeError(f"module 'webnnm.eager' has no attribute {name!r}")
