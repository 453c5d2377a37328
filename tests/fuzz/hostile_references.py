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
from tests.unit.transformers.folders import CONFIG, pack, weights, write
from webnnm import NNModel, OnnxModel, WebNNMError
from webnnm.formats.onnx.messages import StringStringEntryProto
from webnnm.formats.onnx.reader import read_model
from webnnm.formats.onnx.writer import serialize

INDEX = "model.safetensors.index.json"
PIECES = st.sampled_from(
    ["..", ".", "/", "//", "\\", "a", "w.bin", "out", "link", "%2e", "%2f", "%00", "\0", ":", "C:",
     "http://127.0.0.1:9/", "file:///", "etc", "passwd", "~", " ", "\n", "?", "#", "*", "é", "NUL",
     "net.onnx", "model.safetensors", "pipe"]
)  # fmt: skip
INSIDE = ("w.bin", "./w.bin", "empty.bin")
NAMES = st.one_of(
    st.sampled_from(INSIDE),
    st.lists(PIECES, min_size=1, max_size=6).map("".join),
    st.sampled_from([name for name in OUTSIDE if isinstance(name, str)]),
    TEXTS,
)


ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["offset", "length", "location", "checksum", "basepath", ""]),
        st.one_of(
            TEXTS,
            st.sampled_from(["0", "4", "8", "12", "-1", "1e3", "0x8", " 8", "8.0", "w.bin", ".."]),
            st.sampled_from(["9" * 30, "99999999999999999999", str(2**31), str(2**63 - 8), "٨"]),
        ),
    ).map(list),
    max_size=3,
)
SIZES = st.lists(
    st.sampled_from([2, 1, 0, 3, -1, -2, 2**31, 2**62, -(2**63), 2**63 - 1]), max_size=3
)
TYPES = st.sampled_from([1, 1, 2, 6, 7, 8, 9, 10, 11, 16, 21, 22, 0, -1, 99])


def model_of(case: dict[str, Any]) -> bytes:
    """Return an ONNX model whose weight is in the file of a name, as the other entries say."""
    model = read_model(external(case["name"]))
    assert model.graph is not None
    (weight,) = model.graph.initializer
    for key, value in case.get("entries", ()):
        weight.external_data.append(StringStringEntryProto(key, value))
    weight.dims, weight.data_type = case.get("sizes", [2]), case.get("type", 1)
    return serialize(model)


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
            if isinstance(model, OnnxModel):
                await model.predict({"x": [1.0, 1.0]})
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
        (folder / "empty.bin").touch()
        for place in (folder, secret):
            (place / "w.bin").write_bytes(bytes(8))
        (folder / "out").symlink_to(secret)
        (folder / "link").symlink_to(secret / "w.bin")
        try:
            (folder / "net.onnx").write_bytes(model_of(case))
            quoted = json.dumps(name, ensure_ascii=False)
            text = f"m:input shape=[2]; b:source {quoted}; m:output shape=[2]; m:layers b();"
            (folder / "net.nnm").write_text(text, encoding="utf-8")
        except UnicodeEncodeError:
            return "no name of a file"
        index = json.dumps({"weight_map": {"model.norm.weight": name}})
        write(folder, CONFIG, {INDEX: index.encode(), "w.safetensors": pack(weights())})
        with WATCH.within(folder):
            return loop().run_until_complete(touched(folder, name))


TARGET = Target(
    name="hostile references",
    cases=st.fixed_dictionaries(
        {"name": NAMES, "entries": ENTRIES, "sizes": st.one_of(st.just([2]), SIZES), "type": TYPES}
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=40,
)
