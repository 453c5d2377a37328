"""HTML and SVG are put together in one module, which escapes: tags stand in no other program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODULE = "webnnm/core/markup.py"
FOLDERS = ("webnnm", "site", "tools", "npm")
SCRIPTS = ("js_bridge", "site", "npm", "tools/docs/theme")
ELEMENTS = (
    "a|article|aside|b|body|br|button|caption|circle|code|col|dd|defs|desc|details|div|dl|dt|em|"
    "embed|figure|footer|foreignObject|form|g|h[1-6]|head|header|hr|html|i|iframe|image|img|input|"
    "label|li|line|link|main|meta|nav|object|ol|option|p|path|polygon|polyline|pre|progress|rect|"
    "script|section|select|small|span|strong|style|sub|summary|sup|svg|table|tbody|td|template|"
    "text|textarea|tfoot|th|thead|title|tr|tspan|u|ul|use|video"
)
TAG = re.compile(rf"<!(?i:doctype)|</?(?:{ELEMENTS})(?=[\s/>]|$)")
INSERTED = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|setHTMLUnsafe|"
    r"parseFromString)\b|\bdocument\s*\.\s*write(?:ln)?\b|\bjavascript:"
)
READ = ("re.compile", "re.sub", "re.search", "re.match", "re.fullmatch", "re.split", "re.findall")
"""Calls whose first argument looks for tags instead of writing them."""
ALLOWED = {
    "webnnm/diagram/mermaid.py": {"<br>"},  # Mermaid's line break, between texts that are escaped
    "webnnm/transformers/picture_prompts.py": {"<image>"},
    "webnnm/transformers/tokenizer.py": {"<s>", "</s>"},
    "tools/chromium.py": {"<!DOCTYPE fontconfig"},  # the fonts of the bundled browser
    "tools/docs/hooks.py": {r"<td\1></td>", "<script src=", "</script>"},  # MkDocs' own page
}
"""File → texts with tags that are not put together with anything from data."""


def dotted(function: ast.expr) -> str:
    """Return a name such as `re.compile`, with an empty part for what is no name."""
    if isinstance(function, ast.Attribute):
        return f"{dotted(function.value)}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts of a program with their lines, but for docstrings and patterns."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            skipped |= {id(each.value) for each in body if isinstance(each, ast.Expr)}
        if isinstance(node, ast.Call) and dotted(node.func) in READ and node.args:
            skipped |= {id(each) for each in ast.walk(node.args[0])}
    for node in ast.walk(tree):
        if id(node) not in skipped and isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.lineno, node.value
            elif isinstance(node.value, bytes):
                yield node.lineno, node.value.decode("latin-1")


def problems_of_python(name: str, source: str) -> list[str]:
    """Return where a program writes tags, or inserts markup into a page."""
    if name == MODULE:
        return []
    found: list[str] = []
    tree = ast.parse(source)
    for line, text in texts(tree):
        for allowed in ALLOWED.get(name, ()):
            text = text.replace(allowed, "")
        if match := TAG.search(text):
            found.append(f"{name}:{line} writes {match[0]}: tag() of {MODULE} escapes")
    for node in ast.walk(tree):
        used = node.attr if isinstance(node, ast.Attribute) else ""
        if used and INSERTED.search(used):
            found.append(f"{name}:{node.lineno} uses {used}: set_content() of {MODULE} checks")
        if isinstance(node, ast.Call) and dotted(node.func).endswith("Markup"):
            found.append(f"{name}:{node.lineno} declares a text to be markup: only {MODULE} may")
        if isinstance(node, ast.ImportFrom) and node.module in ("html", "xml.sax.saxutils"):
            names = {each.name for each in node.names} & {"escape", "quoteattr"}
            found += [f"{name}:{node.lineno} escapes by itself: escape() is in {MODULE}"] * bool(
                names
            )
    return found


def problems_of_script(name: str, source: str) -> list[str]:
    """Return where a script inserts markup into a page."""
    without = re.sub(r"/\*.*?\*/|(?<![:\w\"'`])//[^\n]*", "", source, flags=re.DOTALL)
    return [f"{name} uses {match[0]}: use textContent" for match in INSERTED.finditer(without)]


PROGRAMS = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path.is_file()
)
JAVASCRIPT = sorted(
    path
    for folder in SCRIPTS
    for ending in ("*.js", "*.mjs", "*.html")
    for path in (ROOT / folder).rglob(ending)
)


def test_programs_write_no_tags() -> None:
    assert len(PROGRAMS) > 400
    problems = [
        problem
        for path in PROGRAMS
        for problem in problems_of_python(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert problems == []


def test_scripts_insert_no_markup() -> None:
    assert len(JAVASCRIPT) > 30
    problems = [
        problem
        for path in JAVASCRIPT
        for problem in problems_of_script(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert problems == []


SHOWING = {"to_html", "svg", "_repr_html_", "_repr_svg_", "_repr_mimebundle_"}
"""Methods that make HTML or SVG."""
TESTED_OTHERWISE = {
    "Plot": "it holds what History.plot made",
    "Tabular": "its subclasses are called",
    "NNModel": "its table of layers is that of Findings with other cells",
}


def test_what_makes_markup_is_called_with_names_of_data() -> None:
    producers = (ROOT / "tests" / "fuzz" / "markup_producers.py").read_text()
    classes = {
        node.name
        for path in (ROOT / "webnnm").rglob("*.py")
        if SHOWING.intersection(re.findall(r"def (\w+)", text := path.read_text()))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        and SHOWING & {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    }
    missing = {name for name in classes if not re.search(rf"\b{name}\b", producers)}
    assert sorted(missing) == sorted(TESTED_OTHERWISE)


@pytest.mark.parametrize(
    "source",
    [
        'f"<b>{name}</b>"',
        '"<p>" + name + "</p>"',
        '"<td class=%s>" % name',
        'x = b"<li>"',
        "box.innerHTML = text",
        'box.insertAdjacentHTML("beforeend", text)',
        "Markup(text)",
        "markup.Markup(text)",
        "from html import escape",
        "f'<svg width=\"{w}\">'",
        'page = "<!DOCTYPE html>"',
    ],
)
def test_the_law_finds_them_in_python(source: str) -> None:
    assert problems_of_python("webnnm/x.py", source)


@pytest.mark.parametrize("source", ['"a < b"', '"<bos>"', '"tensor<2xf32>"', 're.compile("<b>")'])
def test_the_law_leaves_other_texts_alone(source: str) -> None:
    assert problems_of_python("webnnm/x.py", source) == []


@pytest.mark.parametrize(
    "source",
    ["box.innerHTML = x", "document.write(x)", "box . outerHTML += x", 'a.href = "javascript:x"'],
)
def test_the_law_finds_them_in_scripts(source: str) -> None:
    assert problems_of_script("x.js", source)
    assert problems_of_script("x.js", f"// {source}") == []
