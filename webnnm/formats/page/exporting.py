"""Exports a model as a page: a folder or an archive with its plans, weights and scripts."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError
from webnnm.core.markup import page, tag
from webnnm.core.shapes import count
from webnnm.formats.page import onnx_runtime, scripts
from webnnm.formats.page.folders import (
    FILES,
    FORMAT,
    MANIFEST,
    PAGE,
    WEIGHTS,
    describe_files,
    digest,
    write_folder,
)
from webnnm.formats.page.plans import PlanSet, Weights
from webnnm.formats.page.preprocessing import (
    RowKind,
    describe_answers,
    describe_rows,
    describe_tensor,
    find_texts,
)
from webnnm.formats.page.tokenizers import Texts
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph, OperatorNode
from webnnm.runtime.inference.context import build_inference_graph
from webnnm.runtime.state import ModelState
from webnnm.snapshots import storage

VERSION = 1
"""The version of the manifest's format; `js_bridge/inference/model.js` reads it."""
FOLDER = "webnnm"
"""The folder of the scripts."""
OFFLINE = "offline.js"
"""The service worker; it differs if a file of the page does: then browsers keep the new files."""
MODE = 0o644
"""The permissions of the files of an archive: everybody reads them, the owner writes them."""
MAX_FAST_WORK = 250_000
"""Up to so many multiplications, JavaScript has the answer before a device has its inputs."""
MAX_SCRIPT_WORK = 500_000_000
"""More multiplications than this take plain JavaScript seconds, in which the page stands still."""
DEFAULT_LENGTH = 64
"""The positions of sequences whose length neither the model nor its dataset has."""
POLICY = "script-src 'self'"
HEADERS = f"""\
# Read by `webnnm serve`, Netlify and Cloudflare Pages; configure other servers to send the same.
/*
  Content-Security-Policy: default-src 'none'; {POLICY}; connect-src 'self'; \
style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
  Referrer-Policy: no-referrer
  X-Content-Type-Options: nosniff
"""
STYLE = """\
:root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 44rem; padding: 1rem; }
h1 { line-height: 1.2; }
"""

Lengths = int | Mapping[str, int | None] | None
Runtime = Mapping[str, bytes]


async def export_page(
    state: ModelState,
    path: Any,
    sequence: Lengths = None,
    runtime: Runtime | None = None,
    rows: Mapping[str, RowKind] | None = None,
) -> Any:
    """Write a page that answers as `predict` does; see `NNModel.export`.

    `runtime` are the files of ONNX Runtime Web, by name, if the page shall have it.
    """
    return await store_page(build_page(state, sequence, runtime, rows), path)


async def store_page(files: Mapping[str, bytes], path: Any) -> Any:
    """Write the files of a page, and return the path.

    `path` is a new or empty folder, or that of an earlier export; or a ".zip", as "download:NAME"
    and "browser:NAME" always are. Without a path, returns the bytes of the archive.
    """
    name = None if path is None else os.fspath(path)
    if name is not None and not name.lower().endswith(".zip"):
        if not name.startswith((storage.BROWSER, storage.DOWNLOAD)):
            return write_folder(Path(name), files)
        path = f"{name}.zip"
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for file, content in files.items():
            entry = ZipInfo(file)
            entry.external_attr = MODE << 16
            archive.writestr(entry, content, ZIP_DEFLATED)
    return await storage.store(path, [target.getvalue()])


def build_page(
    state: ModelState,
    sequence: Lengths = None,
    runtime: Runtime | None = None,
    rows: Mapping[str, RowKind] | None = None,
) -> dict[str, bytes]:
    """Return the files of a page by their paths.

    Raises `DataError` NNM905 for a model that no page can run, NNM703, NNM704 or NNM710 for `rows`
    that its inputs cannot be.
    """
    texts = find_texts(state)
    lengths = _find_lengths(state, sequence, texts)
    graph = build_inference_graph(state.network, 1, lengths, lengths)
    parameters = state.parameters
    values = {PARAMETER_PREFIX + name: parameters.value(name) for name in parameters.types}
    rows = {**texts, **(rows or {})}
    inputs, outputs = describe_rows(state, lengths, rows), describe_answers(state, lengths)
    tokenizers = dict(kind.file for kind in rows.values() if isinstance(kind, Texts))
    name = state.network.name or "model"
    return assemble_page(name, graph, values, inputs, outputs, runtime, tokenizers)


def build_graph_page(name: str, graph: Graph, values: Mapping[str, HostArray]) -> dict[str, bytes]:
    """Return the files of a page for a graph: it takes and returns plain numbers, whole tensors."""
    inputs = {
        name: describe_tensor(operand.type)
        for name, operand in graph.inputs.items()
        if name not in values
    }
    outputs = {
        name: {"shape": [*operand.shape], "positions": False}
        for name, operand in graph.outputs.items()
    }
    return assemble_page(name, graph, values, inputs, outputs)


def assemble_page(
    name: str,
    graph: Graph,
    values: Mapping[str, HostArray],
    inputs: Mapping[str, Mapping[str, Any]],
    outputs: Mapping[str, Mapping[str, Any]],
    runtime: Runtime | None = None,
    tokenizers: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """Return the files of a page for a graph, and what its inputs and outputs are."""
    weights = Weights()
    plans = PlanSet(graph, values, weights)
    work = count_work(graph)
    try:
        device: Any = plans.describe_device_plans()
    except BackendError:
        device = None  # an operator or a type that not every WebNN has
    script = plans.find_script_plan() if work <= MAX_SCRIPT_WORK else None
    onnx, extra = None, dict(tokenizers or {})
    if runtime is not None:
        described, content = onnx_runtime.describe_onnx(graph, values)
        model = f"model-{digest(content)}.onnx"
        onnx, extra[model] = {"model": model, **described}, content
        extra |= {onnx_runtime.FOLDER + file: content for file, content in runtime.items()}
    if device is None and script is None and onnx is None:
        raise DataError(
            "NNM905",
            "the model has an operator or a data type that not every browser computes",
            hint="save the model, and serve the snapshot as <webnnm-model>",
        )
    sources = {"webnn": device, "onnxruntime": onnx, "script": script}
    order = ("script", "webnn", "onnxruntime") if work <= MAX_FAST_WORK else tuple(sources)
    engines = [engine for engine in order if sources[engine] is not None]
    content = weights.join()
    weights_file = f"model-{digest(content)}{WEIGHTS}"
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "weights": {"path": weights_file, "length": len(content)},
        "inputs": inputs,
        "outputs": outputs,
        "engines": engines,
        "plans": plans.plans,
        **sources,
    }
    first = scripts.ALWAYS
    for key, modules in scripts.PREPARATION.items():
        first += modules if any(key in one for one in inputs.values()) else ()
    kinds = {one.get("kind") for one in outputs.values()}
    for kind, modules in scripts.ANSWERS.items():
        first += modules if kind in kinds else ()
    first += scripts.ENGINES[engines[0]]
    others = tuple(path for engine in engines[1:] for path in scripts.ENGINES[engine])
    # If WebNN comes first, a browser without it fetches the model as ONNX instead.
    spared = onnx is not None and engines[0] == "webnn"
    data = (MANIFEST, *(tokenizers or {})) + (() if spared else (weights_file,))
    files = {
        PAGE: _write_page(name, data, first).encode(),
        "style.css": STYLE.encode(),
        "_headers": _write_headers(onnx is not None).encode(),
        weights_file: content,
        **{f"{FOLDER}/{path}": text for path, text in scripts.read_scripts(first + others).items()},
        **extra,
    }
    worker = scripts.read_scripts((scripts.OFFLINE,))[scripts.OFFLINE]
    files[OFFLINE] = worker + f"// {digest(describe_files(files))}\n".encode()
    text = json.dumps(manifest, separators=(",", ":"), allow_nan=False)
    return {**files, FILES: describe_files(files), MANIFEST: text.encode()}


def count_work(graph: Graph) -> int:
    """Return about how many multiplications a graph takes."""
    work = 0
    for node in graph.nodes():
        if not isinstance(node, OperatorNode):
            continue
        elements, traits = sum(count(type.shape) for type in node.types), node.operator.traits
        shapes = [operand.shape for operand in node.operands if operand is not None]
        if "convolution" in traits:
            elements *= count(shapes[1][1:])  # of a window
        elif "product" in traits:
            elements *= shapes[0][-1]
        elif "recurrent" in traits:
            elements = shapes[0][0] * sum(map(count, shapes[1:3]))  # in every step
        work += elements
    return work


def _find_lengths(
    state: ModelState, sequence: Lengths, texts: Mapping[str, Texts]
) -> dict[str, int]:
    """Return the length up to which rows of each sequence are computed: texts are cut there."""
    lengths: dict[str, int] = {}
    for vertex in state.network.inputs:
        name = vertex.features[0].sequence
        if name is not None:
            asked = sequence if isinstance(sequence, int) else (sequence or {}).get(name)
            cut = texts[vertex.block].length if vertex.block in texts else None
            own = vertex.length or asked or cut or state.sequence.get(name)
            lengths[name] = own or DEFAULT_LENGTH
    return lengths


def _write_headers(webassembly: bool) -> str:
    return HEADERS.replace(POLICY, f"{POLICY} 'wasm-unsafe-eval'") if webassembly else HEADERS


def _write_page(name: str, data: Sequence[str], modules: Sequence[str]) -> str:
    """Return the HTML; the data and modules that the first answer needs are fetched at once."""
    preloads = [tag("link", rel="modulepreload", href=f"./{FOLDER}/{path}") for path in modules]
    fetched = [
        tag("link", rel="preload", href=f"./{path}", as_="fetch", crossorigin="anonymous")
        for path in data
    ]
    head = [
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("link", rel="stylesheet", href="./style.css"),
        *fetched,
        *preloads,
        tag("script", type="module", src=f"./{FOLDER}/{scripts.ELEMENT}"),
        tag("script", type="module", src=f"./{OFFLINE}", async_=""),
    ]
    model = tag("webnnm-model", src=f"./{MANIFEST}", controls="")
    return page(name, tag("main", tag("h1", name), model), head=head)
