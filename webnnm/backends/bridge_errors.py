"""What failures of the bridge mean to users, and what to do about them."""

from __future__ import annotations

from webnnm.core.errors import BackendError

MEANINGS = {
    "NotAvailable": (
        "WebNN is not available",
        'use backend("auto"), which falls back to NumPy; `await probe()` says more',
    ),
    "NotAllowed": (
        'this page may not use WebNN (an iframe needs allow="webnn")',
        "no Permissions-Policy header may deny it either: docs/deploying.md",
    ),
    "BindingError": ("the tensors do not fit the graph", ""),
    "DeviceError": (
        "the device failed",
        "the device may be out of memory: try a smaller batch",
    ),
    "UnknownHandle": ("a tensor, graph or context was used after its release", ""),
}
"""What failed and what to do, by the bridge's names of errors; refused graphs and lost devices are
not among them."""


def explain(name: str, message: str) -> BackendError:
    """Return the error to raise for one of the bridge.

    >>> explain("DeviceError", "too large").message
    'the device failed: too large'
    """
    what, hint = MEANINGS.get(name, (f"the bridge failed with {name}", ""))
    return BackendError("NNM709", f"{what}: {message}", hint=hint)
