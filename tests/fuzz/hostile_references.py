"""Names of other files in ONNX models, texts and indices: below their folder, or refused."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import webnnm
from tests.fuzz.files import TEXTS, loop, told
from tests.fuzz.frame import Target
from tests.fuzz.watch import WATCH
from tests.unit.data.test_references import OUTSIDE, external
from tests.unit.transformers.folders import CONFIG, packed, weights, write
from webnnm import NNModel, WebNNMError

INDEX = "model.safetensors.index.json"
PIECES = st.sampled_from(
    ["..", ".", "/", "//", "\\", "a", "w.bin", "out", "link", "%2e", "%2f", "%00", "\0", ":", "C:",
     "http://127.0.0.1:9/", "file:///", "etc", "passwd", "~", " ", "\n", "?", "#", "*", "é", "NUL",
     "net.onnx", "model.safetensors", "pipe"]
)  # fmt: skip
NAMES = st.one_of(
    st.lists(PIECES, min_size=1, max_size=6).map("".join),
    st.sampled_from([name for name in OUTSIDE if isinstance(name, str)]),
    TEXTS,
)


async def touched(folder: Path, name: str) -> str:
    words: list[str] = []
    loads = (
        lambda: webnnm.load_onnx(folder / "net.onnx", backend="numpy"),
        lambda: NNModel.create(path=folder / "net.nnm", backend="numpy", log=lambda _: None),
        lambda: webnnm.from_pretrained(folder, backend="numpy", log=lambda _: None),
    )
    for load in loads:
        try:
            model: Any = await load()
            model.close()
            words.append("loaded")
        except WebNNMError as error:
            words.append(told(error))
    return " ".join(words)


def check(case: dict[str, Any]) -> str:
    name: str = case["name"]
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "model"
        folder.mkdir()
        secret = Path(outer) / "secret"
        secret.mkdir()
        for place in (folder, secret):
            (place / "w.bin").write_bytes(bytes(8))
        (folder / "out").symlink_to(secret)
        (folder / "link").symlink_to(secret / "w.bin")
        try:
            (folder / "net.onnx").write_bytes(external(name))
            quoted = json.dumps(name, ensure_ascii=False)
            text = f"m:input shape=[2]; b:source {quoted}; m:output shape=[2]; m:layers b();"
            (folder / "net.nnm").write_text(text, encoding="utf-8")
        except UnicodeEncodeError:
            return "no name of a file"
        index = json.dumps({"weight_map": {"model.norm.weight": name}})
        write(folder, CONFIG, {INDEX: index.encode(), "w.safetensors": packed(weights())})
        with WATCH.within(folder):
            return loop().run_until_complete(touched(folder, name))


TARGET = Target(
    name="hostile references",
    cases=st.fixed_dictionaries({"name": NAMES}),
    check=check,
    save=json.dumps,
    load=json.loads,
    suffix=".json",
    examples=40,
)
