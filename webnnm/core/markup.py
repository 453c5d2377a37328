"""HTML and SVG from text: the one module in which text is escaped, JSON inside scripts included.

Markup is put together with `tag`, which escapes every text that is not `Markup` already, so that
names from data, models and files cannot become elements, attributes or scripts. A law
(`tests/laws/test_markup.py`) finds tags that are written anywhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape as _escape_html
from typing import Any, cast

from webnnm.core.errors import DataError

Scalar = str | int | float | None
EMPTY = frozenset(("br", "circle", "img", "input", "link", "meta", "path", "polygon", "rect"))
"""Elements that close themselves if there is nothing in them."""
ADDRESSES = frozenset(("action", "formaction", "href", "src"))
SCHEMES = frozenset(("", "http", "https", "mailto"))
"""The schemes of addresses that cannot run a script; without one an address is relative."""
NOT_XML = re.compile("[\0-\b\v\f\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML, and thus no SVG, may contain, and those that UTF-8 cannot encode."""
IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in ("<", ">", "&", "\u2028", "\u2029")}
NAME = re.compile(r"[A-Za-z][\w:-]*", re.ASCII)


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def escape(text: object) -> Markup:
    """Return a text as markup that shows it; markup is returned as it is.

    >>> escape("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    if isinstance(text, Markup):
        return text
    return Markup(_escape_html(NOT_XML.sub("\ufffd", str(text))))


def representable(value: Any) -> Any:
    r"""Return JSON values whose texts every file can hold, without the characters XML forbids.

    >>> representable({"a": ["b\0", 1]})
    {'a': ['b\ufffd', 1]}
    """
    if isinstance(value, str):
        return NOT_XML.sub("\ufffd", value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {representable(key): representable(inner) for key, inner in entries.items()}
    if isinstance(value, (list, tuple)):
        return [representable(inner) for inner in cast("Sequence[Any]", value)]
    return value


def tag(name: str, /, *inside: object, **attributes: Scalar) -> Markup:
    """Return an element with its attributes, around texts and markup.

    >>> tag("td", "a<b", class_="n", data_row=1)
    '<td class="n" data-row="1">a&lt;b</td>'

    In names of attributes `_` stands for `-`; one at the end, as in `class_`, is dropped.
    Attributes that are None are left out. Raises `DataError` NNM704 for an address that could run
    a script, and `ValueError` for a name that is not one, or that of an attribute that is a script.
    """
    parts = [f"<{_check_name(name)}"]
    for key, value in attributes.items():
        attribute = _check_name(key.rstrip("_").replace("_", "-"))
        if value is None:
            continue
        if attribute.lower() in ADDRESSES:
            value = safe_url(str(value))
        parts.append(f' {attribute}="{escape(value)}"')
    if not inside and name in EMPTY:
        return Markup("".join([*parts, "/>"]))
    return Markup("".join([*parts, ">", *map(escape, inside), f"</{name}>"]))


def svg_image(drawing: str, description: str) -> Markup:
    """Return SVG as an image, in which browsers run no script and load nothing.

    >>> svg_image("<svg/>", "Nothing.")
    '<img alt="Nothing." src="data:image/svg+xml;base64,PHN2Zy8+"/>'
    """
    from base64 import b64encode

    content = b64encode(drawing.encode()).decode()
    return Markup(f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{content}"/>')


def join(parts: Iterable[object]) -> Markup:
    """Return texts and markup one after the other.

    >>> join([tag("b", "1"), " < 2"])
    '<b>1</b> &lt; 2'
    """
    return Markup("".join(map(escape, parts)))


def safe_url(address: str) -> str:
    """Return an address that cannot run a script.

    >>> safe_url("./a.html"), safe_url("https://example.org/?q=1")
    ('./a.html', 'https://example.org/?q=1')

    Raises `DataError` NNM704 for other schemes than http, https and mailto, however written.
    """
    # Browsers skip blanks and control characters in schemes.
    plain = re.sub(r"[\0-\x20\x7f-\xa0]", "", address)
    head, colon, _ = plain.partition(":")
    scheme = head.lower() if colon and not re.search(r"[/?#]", head) else ""
    if scheme not in SCHEMES:
        raise DataError(
            "NNM704",
            f'a link to "{address[:80]}"',
            hint="links begin with http:, https: or mailto:, or are relative",
        )
    return address


def script_json(value: Any) -> Markup:
    r"""Return JSON that can stand inside a script: no text in it can end the script.

    >>> script_json({"name": "</script>"})
    '{"name": "\\u003c/script\\u003e"}'
    """
    return Markup(json.dumps(value).translate(IN_SCRIPT))


def script(code: str, **attributes: Scalar) -> Markup:
    """Return a script; data come into its code by `script_json`.

    >>> script("run()")
    '<script>run()</script>'

    Raises `ValueError` for code that would end the script or begin a comment of HTML.
    """
    if re.search(r"</script|<script|<!--", code, re.IGNORECASE):
        raise ValueError("the code of a script contains markup: pass data through script_json")
    return tag("script", Markup(code), **attributes)


def stylesheet(rules: str) -> Markup:
    """Return a style sheet.

    >>> stylesheet("p{margin:0}")
    '<style>p{margin:0}</style>'

    Raises `ValueError` for rules that would end it.
    """
    if "<" in rules:
        raise ValueError("a style sheet contains markup")
    return tag("style", Markup(rules))


def page(title: str, *body: object, head: Iterable[object] = ()) -> Markup:
    """Return a whole page.

    >>> page("R&D", tag("p", "1 < 2"))
    '<!doctype html><html lang="en"><head><meta charset="utf-8"/><title>R&amp;D</title></head>...'
    """
    top = tag("head", tag("meta", charset="utf-8"), tag("title", title), *head)
    return Markup("<!doctype html>" + tag("html", top, tag("body", *body), lang="en"))


def set_content(element: Any, content: Markup) -> None:
    """Replace what is in an element of a page.

    Raises `TypeError` for a text that is not `Markup`, which would have to be escaped.
    """
    if not isinstance(content, Markup):
        raise TypeError("only Markup becomes elements: build it with tag(), or set textContent")
    element.innerHTML = str(content)


def html_table(rows: Iterable[Sequence[str]], caption: str = "", *, head: bool = False) -> Markup:
    """Return a table whose rows begin with a heading; with `head`, the first row is all headings.

    >>> html_table([("loss", "<0.1")], "R&D")
    '<table><caption>R&amp;D</caption><tr><th>loss</th><td>&lt;0.1</td></tr></table>'
    """
    rows = iter(rows)
    parts = [tag("caption", caption)] if caption else []
    if head:
        parts.append(tag("thead", tag("tr", *(tag("th", cell) for cell in next(rows)))))
    parts += [
        tag("tr", tag("th", first), *(tag("td", cell) for cell in rest)) for first, *rest in rows
    ]
    return tag("table", *parts)


def light_dark(selector: str, name: str, light: str, dark: str) -> str:
    """Return the CSS rule that gives a property one colour in light schemes and another in dark.

    Renderers that do not know `light-dark()` use the light colour.

    >>> light_dark(".card", "fill", "#fff", "#111")
    '.card{fill:#fff;fill:light-dark(#fff,#111)}'
    """
    return f"{selector}{{{name}:{light};{name}:light-dark({light},{dark})}}"


def _check_name(name: str) -> str:
    """Return the name of an element or attribute, which is never from data."""
    if not NAME.fullmatch(name) or name.lower().startswith("on") or name.lower() == "srcdoc":
        raise ValueError(f"{name!r} is not the name of an element or attribute")
    return name
