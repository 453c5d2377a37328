"""Writes docs/api.md from the public names: their signatures, docstrings and members."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import webnnm
from tools.citations import link_citations
from tools.common import ROOT

PAGE = ROOT / "docs" / "api.md"

Function = ast.FunctionDef | ast.AsyncFunctionDef
WIDTH = 88
"""Longer signatures have one parameter per line."""

GROUPS = {
    "Models": [
        "NNModel",
        "OnnxModel",
        "HubModel",
        "PretrainedModel",
        "PretrainedOnnxModel",
        "check",
        "diagnose",
        "elaborate",
        "format_model",
        "graph_text",
        "plot_model",
        "view",
        "from_pretrained",
        "pipeline",
        "list_tasks",
        "EnglishPhonemes",
        "train_text_head",
        "forget_downloads",
        "load_onnx",
        "parse",
        "review",
    ],
    "Training": [
        "Training",
        "History",
        "EpochRecord",
        "Review",
        "Finding",
        "search",
        "cross_validate",
        "train_ensemble",
        "predict_members",
        "MemberPredictions",
        "find_lr",
        "inspect_model",
        "permutation_importance",
        "token_importance",
    ],
    "Charts": ["charts"],
    "Answers": ["Prediction", "Forecast", "Detections", "TestResult", "open_painter", "Painter"],
    "Data": [
        "Dataset",
        "TableDataset",
        "SeriesDataset",
        "CSVDataset",
        "ImageDataset",
        "DetectionDataset",
        "Box",
        *("Flip", "Shift", "Rotate", "Brighten", "Erase"),
        "TextDataset",
        "LabeledTextDataset",
        "StreamDataset",
        "IrisDataset",
        "read_csv",
        "read_table",
        "describe_table",
        "suggest",
        "suggest_model",
        "suggest_image_model",
        "suggest_detection_model",
        "suggest_series_model",
        "suggest_text_model",
        "make_moons",
        "make_circles",
        "make_spirals",
        "make_xor",
        "plane_features",
    ],
    "Sound": [
        "SoundDataset",
        "suggest_sound_model",
        "Delay",
        "Gain",
        "Noise",
        "Sound",
        "load_sound",
        "encode_wav",
        "Microphone",
        "log_mel",
    ],
    "Text and speech": ["Generator", "Sampling", "TextInspector", "TranscriptionThresholds"],
    "Weights": [
        "pack_safetensors",
        "unpack_safetensors",
        "HostArray",
        "Transposed",
        "Permuted",
        "Reshaped",
        "Part",
        "read_name_map",
    ],
    "Changed models": ["split_model", "join_models", "replace_head", "quantize"],
    "Arrays": [
        "xp",
        "random",
        "jit",
        "grad",
        "value_and_grad",
        "vjp",
        "jvp",
        "jacfwd",
        "jacrev",
        "hessian",
        "custom_gradient",
        "recompute",
        "check_gradients",
        "vmap",
        "cond",
        "scan",
        "fori_loop",
        "while_loop",
        "optimizer",
        "schedule",
        "tree_map",
        "tree_leaves",
    ],
    "Graphs and devices": [
        "GraphBuilder",
        "gradients",
        "composite",
        "export_graph",
        "Backend",
        "ReferenceBackend",
        "backend",
        "probe",
    ],
    "Errors": [
        "WebNNMError",
        "ModelError",
        "NotationError",
        "DataError",
        "BackendError",
        "ContextLost",
    ],
}
"""Every public name, in the order of the page."""

INTRODUCTION = """\
# Python API

<!-- Written by `make documents`: change the docstrings in webnnm, not this file. -->

These are the public names of `import webnnm`. Nothing else is stable: module names may change.
Functions and methods that are `async` must be awaited; for plain scripts `webnnm.sync` has the same
names without `await`. Spellings in camelCase are accepted where a method says so.
[Errors and findings](errors.md) lists errors by code.

**Contents:** {contents}
"""


def page() -> str:
    """Return the text of docs/api.md."""
    contents = "\n".join(
        f"- {group}: {', '.join(f'[{name}](#{name.lower()})' for name in names)}"
        for group, names in GROUPS.items()
    )
    parts = [INTRODUCTION.replace("{contents}", "\n\n" + contents)]
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [section(name) for name in names]
    return "\n".join(parts).replace("**Contents:** \n", "**Contents:**\n")


def section(name: str) -> str:
    """Return the documentation of one public name, including its members."""
    value = getattr(webnnm, name)
    if isinstance(value, ModuleType):
        return _module_section(name, value)
    path = Path(inspect.getsourcefile(inspect.unwrap(value)) or "")
    home = path.relative_to(ROOT).as_posix()
    node = _definition(path, value.__name__)
    lines = [f"### {name}", ""]
    if isinstance(node, ast.ClassDef):
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        linked_bases = [f"[{base}](#{base.lower()})" for base in bases if base in webnnm.__all__]
        of = f" A kind of {', '.join(linked_bases)}." if linked_bases else ""
        lines += [f"*Class in [{home}](../{home}).*{of}", ""]
        lines += [_signature(_constructor(node), name), ""]
    else:
        lines += [f"*Function in [{home}](../{home}).*", "", _signature(node, name), ""]
    lines += [prose(ast.get_docstring(node) or "")]
    if isinstance(node, ast.ClassDef):
        for member in _all_members(value):
            lines += [f"#### {name}.{member.name}", "", _signature(member, member.name), ""]
            lines += [prose(ast.get_docstring(member) or "")]
    return "\n".join(lines)


def _module_section(name: str, module: ModuleType) -> str:
    """Return the documentation of a module: one line per function."""
    home = Path(module.__file__ or "").relative_to(ROOT).as_posix()
    lines = [f"### {name}", "", f"*Module [{home}](../{home}).*", ""]
    lines += [prose(inspect.getdoc(module) or ""), "", "| | |", "|---|---|"]
    functions = inspect.getmembers(module, inspect.isfunction)
    for section_name, function in functions:
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
        lines.append(f"| `{name}.{section_name}` | {summary} |")
    return "\n".join([*lines, ""])


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: what follows >>> becomes a block of code.

    >>> prose("Adds (spec C.1).").strip()
    'Adds ([spec C.1](specification/c-operators.md#c1-element-by-element)).'
    """
    lines: list[str] = []
    inside = False
    for line in docstring.splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not inside:
            lines.append("```python")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.rstrip() if inside else link_citations(line.rstrip()))
    if inside:
        lines.append("```")
    return "\n".join(lines) + "\n"


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _definition(path: Path, name: str) -> ast.ClassDef | Function:
    """Return where a name is defined in a module."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, (ast.ClassDef, Function)) and node.name == name:
            return node
    raise LookupError(f"{path} does not define {name}")


def _all_members(found: type) -> list[Function]:
    """Return the public members of a class, including those of bases that are not public."""
    members: dict[str, Function] = {}
    for kind in found.__mro__:
        if not kind.__module__.startswith("webnnm."):
            continue
        if kind is not found and kind.__name__ in webnnm.__all__:
            break
        node = _definition(Path(inspect.getsourcefile(kind) or ""), kind.__name__)
        if isinstance(node, ast.ClassDef):
            for member in _members(node):
                members.setdefault(member.name, member)
    return list(members.values())


def _members(node: ast.ClassDef) -> Iterator[Function]:
    """Yield the public methods and properties of a class that have a docstring, in order."""
    for member in node.body:
        if (
            isinstance(member, Function)
            and not member.name.startswith("_")
            and ast.get_docstring(member)
            and not any("setter" in ast.unparse(mark) for mark in member.decorator_list)
        ):
            yield member


def _constructor(node: ast.ClassDef) -> Function | ast.ClassDef:
    """Return the method that creates an instance, or the class if its fields do."""
    for member in node.body:
        if isinstance(member, Function) and member.name == "__init__":
            return member
    return node


def _signature(node: Any, name: str) -> str:
    """Return how to call something, as a block of code."""
    marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
    if isinstance(node, ast.ClassDef):
        text = _fields(node, name)
    elif "property" in marks or "cached_property" in marks:
        text = f"{name}: {ast.unparse(node.returns)}" if node.returns else name
    else:
        text = _call(node, name, bound="staticmethod" not in marks)
    marks = [f"@{mark}\n" for mark in marks if mark in ("classmethod", "staticmethod", "property")]
    return f"```py\n{''.join(marks)}{text}\n```"


def _fields(node: ast.ClassDef, name: str) -> str:
    """Return the public fields of a class that is created from them."""
    fields = [
        f"    {ast.unparse(field.target)}: {ast.unparse(field.annotation)}"
        for field in node.body
        if isinstance(field, ast.AnnAssign) and not ast.unparse(field.target).startswith("_")
    ]
    return "\n".join([f"class {name}:", *fields]) if fields else f"class {name}"


def _call(node: Function, name: str, *, bound: bool) -> str:
    """Return a call with its parameters and result, on several lines if it is long."""
    arguments = node.args
    is_method = arguments.args and arguments.args[0].arg in ("self", "cls") and bound
    copy = ast.arguments(
        posonlyargs=arguments.posonlyargs,
        args=arguments.args[1:] if is_method else arguments.args,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=arguments.kw_defaults,
        kwarg=arguments.kwarg,
        defaults=arguments.defaults,
    )
    returns = node.returns and ast.unparse(node.returns)
    result = f" -> {returns}" if returns and node.name != "__init__" else ""
    is_async = isinstance(node, ast.AsyncFunctionDef)
    before = "" if node.name == "__init__" else "async def " if is_async else "def "
    parameters = _split(ast.unparse(copy))
    line = f"{before}{name}({', '.join(parameters)}){result}"
    if len(line) <= WIDTH:
        return line
    parts = textwrap.indent(",\n".join(parameters) + ",", "    ")
    return f"{before}{name}(\n{parts}\n){result}"


def _split(parameters: str) -> list[str]:
    """Return parameters one by one; commas inside brackets and strings do not separate them.

    >>> _split("a: dict[str, int]={}, b=1")
    ['a: dict[str, int] = {}', 'b=1']
    """
    parts, depth, quote = [""], 0, ""
    for letter in parameters:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quote:
            parts.append("")
        elif letter == "=" and not depth and not quote and ": " in parts[-1]:
            parts[-1] += " = "
        else:
            parts[-1] += letter
    return [part.lstrip() for part in parts]
