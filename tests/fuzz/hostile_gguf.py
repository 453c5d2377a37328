"""GGUF files with hostile keys: used, or refused by name."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import ODD, TEXTS, loop
from tests.fuzz.frame import Target
from tests.fuzz.pretrained import GGUF, load, metadata, pack_gguf
from tests.fuzz.watch import WATCH
from tests.unit.transformers.test_gguf_keys import KNOWN
from webnnm.transformers.gguf_model import KEYS

NAMES = sorted({*(f"llama.{key}" for key in (*KNOWN.split(), *KEYS)), *metadata(), "split.count",
                "general.alignment", "tokenizer.chat_template.x"})  # fmt: skip
VALUES = st.one_of(
    ODD,
    st.integers(0, 2**32 - 1),
    st.floats(width=32, allow_nan=True),
    st.booleans(),
    TEXTS,
    st.lists(st.integers(0, 2**32 - 1), max_size=3),
    st.lists(TEXTS, max_size=3),
)


def check(case: dict[str, Any]) -> str:
    said = metadata()
    for how, name, value in case["edits"]:
        said = {k: v for k, v in said.items() if k != name}
        if how == "set":
            said[name] = value
    try:
        data = pack_gguf(said)
    except (TypeError, ValueError, AttributeError, OverflowError, struct.error, KeyError):
        return "the format cannot say this"
    with tempfile.TemporaryDirectory() as folder, WATCH.within(folder):
        path = Path(folder) / GGUF
        path.write_bytes(data)
        return loop().run_until_complete(load(GGUF, path))


TARGET = Target(
    name="hostile gguf",
    cases=st.fixed_dictionaries(
        {
            "edits": st.lists(
                st.tuples(
                    st.sampled_from(["set", "set", "set", "drop"]), st.sampled_from(NAMES), VALUES
                ).map(list),
                min_size=1,
                max_size=3,
            )
        }
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=40,
)
