"""The counts in docs/conformance.json: how many vectors of a file the reference backend passes.

Those of ONNX's operator cases are in docs/onnx.json. What browsers fail is in their records.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.records import is_recording

FILE = Path(__file__).resolve().parents[2] / "docs" / "conformance.json"
ONNX = FILE.with_name("onnx.json")


def check(problems: Mapping[str, str], *, file: Path = FILE, **facts: Any) -> None:
    """Compare the counts of a run with the recorded ones, or record them if that is asked for.

    `problems` has, by "file: name" of a vector, what is wrong, "" for what passes. `facts` are
    recorded beside the counts, and not compared.
    """
    total = Counter(key.partition(": ")[0] for key in problems)
    passed = Counter(key.partition(": ")[0] for key, problem in problems.items() if not problem)
    counts = {name: {"total": total[name], "reference": passed[name]} for name in sorted(total)}
    if is_recording():
        content = {"vectors": counts, **facts}
        file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return
    recorded = json.loads(file.read_text())["vectors"]
    assert counts == recorded, "`make operators` records the counts anew"
