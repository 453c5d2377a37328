"""How much work and data a backend is given at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many steps and bytes a device is given at a time; results do not depend on it.

    - `call_seconds`: the target of a call of a training: `pause` and `stop` wait this long, and
      progress is as frequent.
    - `first_steps`: the steps of the first call, whose time includes the warm-up of the device.
    - `call_steps`: the maximum number of steps of a call.
    - `replay_seconds`: the maximum time of repeated steps to return to a known one, instead of a
      copy of the state.
    - `resident_bytes`: rows of more bytes stay on the host, and are uploaded block by block.
    - `block_steps`: the steps of such a block.
    - `graph_bytes`: the maximum bytes of weights in graphs that are kept for other shapes.
    - `yield_steps`: after how many steps other tasks get a turn, where the host computes.

    >>> Budget(resident_bytes=2**27).call_seconds
    0.25
    """

    call_seconds: float = 0.25
    first_steps: int = 8
    call_steps: int = 4096
    replay_seconds: float = 1.0
    resident_bytes: int = 2**29
    block_steps: int = 32
    graph_bytes: int = 2**29
    yield_steps: int = 16
