"""Links the first use of each term in a document to the glossary, with its definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

PAGE = "glossary.md"
ENTRY = re.compile(
    r"^### (?P<name>.+)\n\n(?:\*Also: (?P<also>[^*]+)\.\* )?(?P<text>.+)$", re.MULTILINE
)
LESSONS = "course/"
IN_LESSONS = frozenset(
    {"Class", "Embedding", "Feature", "Input", "Label", "Output", "Target", "Token", "Transformer"}
)
"""Terms that are linked in lessons alone: guides use them on every line, or for something else."""
EVERYDAY = frozenset(
    {"Attention", "Category", "Channel", "Filter", "Finding", "Inference", "Leak", "Noise"}
    | {"Precision", "Recall", "Row", "Sequence", "Shape"}
)
"""Terms with other meanings too, which are linked where a lesson introduces them."""
GENERATED = "<!-- Written by `make documents`"
KEPT = re.compile(
    r"^```.*?^```$|<!--.*?-->|^#.*?$|`[^`\n]+`|!?\[(?:[^][]|\[[^]]*\])*\](?:\([^)]*\))?(?:\{[^}]*\})?"
    r"|<[^>\n]+>|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
"""Where no term is linked: code, comments, headings, links, pictures, tags."""
INTRODUCED = re.compile(r"\]\((?P<path>[./]*glossary\.md)#(?P<anchor>[\w-]+)\)")


@dataclass(frozen=True)
class Term:
    """An entry of the glossary. `forms` are the words that stand for it, in small letters."""

    name: str
    forms: tuple[str, ...]
    text: str

    @property
    def anchor(self) -> str:
        """The anchor of its heading."""
        return re.sub(r"[^\w -]", "", self.name).lower().replace(" ", "-")

    @property
    def definition(self) -> str:
        """Its text without the links at the end, for a tooltip."""
        plain = re.sub(r"(?:\s*·?\s*\[[^]]*\]\([^)]*\))+$", "", self.text)
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain)
        return plain.replace("`", "").replace("*", "").replace('"', "'")

    @property
    def link(self) -> str:
        """The end of a link to it, below the folder of the glossary."""
        return f'{PAGE}#{self.anchor} "{self.definition}"){{ .term }}'


def terms(glossary: str) -> Iterator[Term]:
    """Yield the terms of the glossary.

    >>> [*terms("### Batch\\n\\n*Also: mini-batch.* Some rows. [Lesson 2](2.md)\\n")][0].forms
    ('batch', 'batches', 'mini-batch', 'mini-batches')
    """
    for entry in ENTRY.finditer(glossary):
        names = [entry["name"], *(entry["also"] or "").split(", ")]
        singular = [name.lower() for name in names if name]
        forms = dict.fromkeys(form for name in singular for form in (name, plural(name)))
        yield Term(entry["name"], tuple(forms), entry["text"])


def plural(name: str) -> str:
    """Return the plural of a term.

    >>> [plural(name) for name in ("loss", "category", "weight", "array")]
    ['losses', 'categories', 'weights', 'arrays']
    """
    if re.search(r"(?:s|x|ch|sh)$", name):
        return f"{name}es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", name) + "s"


def link_terms(document: str, page: str, entries: Sequence[Term]) -> str:
    """Return a document whose terms, where they are first used, link to the glossary.

    >>> batch = Term("Batch", ("batch",), "Some rows. [Lesson 2](2.md)")
    >>> link_terms("# Batch\\n\\nA batch, `batch`, a batch.", "course/a.md", [batch])
    '# Batch\\n\\nA [batch](../glossary.md#batch "Some rows."){ .term }, `batch`, a batch.'
    """
    if page == PAGE or GENERATED in document:
        return document
    up = "../" * (len(PurePosixPath(page).parts) - 1)
    by_anchor = {entry.anchor: entry for entry in entries}

    def describe(link: re.Match[str]) -> str:
        entry = by_anchor[link["anchor"]]
        return f"]({up}{entry.link}"

    linked = {link["anchor"] for link in INTRODUCED.finditer(document)} - {""}
    hidden = EVERYDAY if page.startswith(LESSONS) else EVERYDAY | IN_LESSONS
    used = [entry for entry in entries if entry.name not in hidden]
    by_form = {form: entry for entry in used for form in entry.forms}
    longest = sorted(by_form, key=len, reverse=True)
    forms = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in longest)
    pattern = re.compile(
        rf"(?P<kept>{KEPT.pattern})|(?<![\w-])(?P<use>{forms})(?![\w-])",
        re.MULTILINE | re.DOTALL | re.IGNORECASE,
    )

    def link_first(match: re.Match[str]) -> str:
        if match["kept"] is not None:
            return INTRODUCED.sub(describe, match[0]) if match[0].startswith("[") else match[0]
        entry = by_form[" ".join(match["use"].lower().split())]
        if entry.anchor in linked:
            return match[0]
        linked.add(entry.anchor)
        return f"[{match[0]}]({up}{entry.link}"

    return pattern.sub(link_first, document)
