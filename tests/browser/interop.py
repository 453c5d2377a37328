"""The script that lets WebNN share tensors with WebGPU in browsers that cannot do so."""

from __future__ import annotations

from pathlib import Path

INTEROP = (Path(__file__).parent / "pages" / "interop.js").read_text()
