"""The counts in docs/conformance.json: how many vectors of a file each backend passes.

Those of ONNX's operator cases are in docs/onnx.json.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[2] / "docs" / "conformance.json"
ONNX = FILE.with_name("onnx.json")
RECORD = "WEBNNM_RECORD_CONFORMANCE"
"""The environment variable with which `make operators` runs the tests."""


def check(backend: str, problems: Mapping[str, str], *, file: Path = FILE, **facts: Any) -> None:
    """Compare the counts of a run with the recorded ones, or record them if that is asked for.

    `problems` has, by "file: name" of a vector, what is wrong, "" for what passes. `facts` are
    recorded beside the counts, and not compared.
    """
    total = Counter(key.partition(": ")[0] for key in problems)
    passed = Counter(key.partition(": ")[0] for key, problem in problems.items() if not problem)
    found = {name: {"total": total[name], backend: passed[name]} for name in sorted(total)}
    content = json.loads(file.read_text()) if file.exists() else {}
    known = content.get("vectors", {})
    if os.environ.get(RECORD):
        content["vectors"] = {name: known.get(name, {}) | found[name] for name in found}
        file.write_text(json.dumps({**content, **facts}, indent=1, ensure_ascii=False) + "\n")
        return
    seen = {name: {key: of.get(key) for key in ("total", backend)} for name, of in known.items()}
    assert found == seen, "`make operators` records the counts anew"
