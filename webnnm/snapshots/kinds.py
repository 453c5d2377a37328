"""Recognises the kind of a file that was given in place of another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from webnnm.data.tables.endings import CSV


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its name, and how to get its contents into WebNNM."""

    name: str
    remedy: str


_WEIGHTS = 'save_file(weights, "weights.safetensors"), then webnnm convert, or model.load_params'

PYTORCH = Kind(
    "a file of PyTorch",
    f"safetensors.torch in Python: weights = model.state_dict(); {_WEIGHTS}",
)
KERAS = Kind(
    "a file of Keras",
    "safetensors.numpy in Python: weights = {w.path: w.numpy() for w in model.weights}; "
    + _WEIGHTS,
)
NUMPY = Kind(
    "a file of NumPy", f"safetensors.numpy in Python: weights = dict(np.load(path)); {_WEIGHTS}"
)
ONNX = Kind(
    "an ONNX model",
    "webnnm.load_onnx runs it, and webnnm show describes it; for a model of the notation, write its"
    " layers as a text and extract its weights with safetensors.numpy in Python: weights = "
    "{w.name: onnx.numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer}; "
    + _WEIGHTS,
)
TFLITE = Kind(
    "a TensorFlow Lite model",
    f"use the model that it was converted from: write its layers as a text; {_WEIGHTS}",
)
GGUF = Kind(
    "a GGUF file",
    "use the weights that it was converted from: most models are published as safetensors, too",
)
COMPRESSED = Kind("a compressed file", "unpack it first")
TEXT = Kind("the text of a model", "webnnm train makes a snapshot of it")
TABLE = Kind("a table", "in webnnm train and test, --data takes tables; in predict, ROWS does")
SNAPSHOT = Kind("a safetensors file", "webnnm export --format params writes one, convert reads it")

_CONTENTS = (
    (0, b"\x89HDF", KERAS),
    (0, b"\x93NUMPY", NUMPY),
    (0, b"GGUF", GGUF),
    (4, b"TFL3", TFLITE),
    (0, b"\x1f\x8b", COMPRESSED),
    (0, b"BZh", COMPRESSED),
    (0, b"\xfd7zXZ", COMPRESSED),
    (0, b"\x28\xb5\x2f\xfd", COMPRESSED),
)
_ZIPPED = ((b"data.pkl", PYTORCH), (b".npy", NUMPY), (b"config.json", KERAS), (b"", COMPRESSED))
_ENDINGS = {
    **dict.fromkeys((".pt", ".pth", ".ckpt"), PYTORCH),
    **dict.fromkeys((".h5", ".hdf5", ".keras"), KERAS),
    **dict.fromkeys((".npz", ".npy"), NUMPY),
    ".onnx": ONNX,
    ".tflite": TFLITE,
    ".gguf": GGUF,
    ".nnm": TEXT,
    **dict.fromkeys(CSV, TABLE),
    ".safetensors": SNAPSHOT,
}
BEGINNING_BYTES = 4096
"""How many bytes are needed to recognise a file."""


def recognise_file(beginning: bytes, name: str = "") -> Kind | None:
    """Return the kind of a file by its first bytes, or by its file extension; None if unknown.

    >>> recognise_file(b"GGUF....").name, recognise_file(b"", "net.onnx").name
    ('a GGUF file', 'an ONNX model')
    >>> recognise_file(b"m:layers") is None
    True
    """
    if is_safetensors(beginning):
        return SNAPSHOT
    if beginning[:4] == b"PK\x03\x04":
        return next(kind for mark, kind in _ZIPPED if mark in beginning[:BEGINNING_BYTES])
    for offset, mark, kind in _CONTENTS:
        if beginning[offset : offset + len(mark)] == mark:
            return kind
    return _ENDINGS.get(PurePath(name).suffix.lower())


def is_safetensors(beginning: bytes) -> bool:
    """Return whether a file begins like safetensors: with the length of a header, and a brace.

    >>> is_safetensors(b"\\x02\\0\\0\\0\\0\\0\\0\\0{}"), is_safetensors(b"m:input ")
    (True, False)
    """
    return beginning[4:9] == b"\0\0\0\0{"
