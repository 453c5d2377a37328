"""The hooks that MkDocs calls while it builds the documentation site."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files  # pyrefly: ignore[missing-import]

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.docs import feedback, gallery, glossary, markup, search_words  # noqa: E402

INDEX = "README.md"
INLINE = re.compile(r"<script>(.+?)</script>", re.DOTALL)
FORBIDDEN = re.compile(
    r"<style|<[a-z][^>]* (?:style|on[a-z]+)=|<script(?! src=| type=| id=\"__config\")"
)
"""Markup that the policy of the site refuses."""


def anchor(title: str, separator: str = "-") -> str:
    """Return the anchor of a heading, as in the repository."""
    return re.sub(r"[^\w -]", "", title).lower().replace(" ", separator)


def on_config(config: Any) -> Any:
    """Take the navigation from the list of documents."""
    config.mdx_configs["toc"]["slugify"] = anchor
    config.nav = navigation((ROOT / "docs" / INDEX).read_text())
    config.extra["version"] = feedback.version()
    return config


def navigation(text: str) -> list[Any]:
    """Return the sections and links of the list of documents, in its order.

    >>> navigation("## Guides\\n\\n- [Arrays](arrays.md): programs\\n")
    [{'Home': 'README.md'}, {'Guides': [{'Arrays': 'arrays.md'}]}]
    """
    entries: list[Any] = [{"Home": INDEX}]
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, rows = section.split("\n", 1)
        links = re.findall(r"^ *- \[([^]]+)\]\(([\w./-]+\.md)\)", rows, re.MULTILINE)
        places = {title_of_page: _place(target) for title_of_page, target in links}
        if places:
            entries.append(
                {title: [{title_of_page: location} for title_of_page, location in places.items()]}
            )
    return entries


def _place(target: str) -> str:
    return markup.FROM_ROOT[target[3:]] if target.startswith("../") else target


def on_files(files: Files, config: Any) -> Files:
    """Add the documents outside docs/, and the files that examples open."""
    for name, page in markup.FROM_ROOT.items():
        if page != INDEX:
            text = (ROOT / name).read_text()
            inside = re.sub(r"\]\((?!\w+:|#)(?=[\w.])", "](../", text).replace("](../docs/", "](")
            files.append(File.generated(config, page, content=inside))
    opened = {
        name for file in files.documentation_pages() for name in markup.files(file.content_string)
    }
    places = {f"files/{name}": ROOT / name for name in opened}
    # Themes exclude Python files.
    places["assets/session.py"] = Path(__file__).with_name("session.py")
    for location, path in sorted(places.items()):
        files.append(File.generated(config, location, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Translate the markers and links of a document, and link its terms to the glossary."""
    name = page.file.src_uri
    entries = [*glossary.terms((ROOT / "docs" / glossary.PAGE).read_text())]
    return glossary.link_terms(markup.for_site(markdown, name), name, entries)


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """Pass the files that the examples of a page open to the template."""
    text = page.file.content_string
    context["example_files"] = sorted(markup.files(text))
    context["examples_alone"] = page.file.src_uri in markup.GENERATED
    context["pages_of_guide"] = feedback.pages_of(page.file.src_uri)
    context["examples_of_guide"] = gallery.examples_of(page.file.src_uri)
    context["neighbours"] = gallery.neighbours(page.file.src_uri)
    context["feedback"] = feedback.feedback_on(page.file.src_uri, text)
    return context


def on_post_build(config: Any) -> None:
    """Add the words by which people look for a section to the search."""
    search_words.write_words(Path(config.site_dir))


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Move the scripts of a page without a document into files."""
    return outside(output_content, config) if template_name.endswith(".html") else output_content


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Name the search of a page, and move its scripts into files, as a strict policy requires."""
    dialog = 'data-md-component="search" role="dialog"'
    if dialog not in output:
        raise ValueError("the theme's search has changed: check whether it has a name by now")
    named = output.replace(dialog, f'{dialog} aria-label="Search"')
    # Firefox fetches it in advance, which the policy refuses, on every page.
    named = re.sub(r'<link rel="(?:next|prev)"[^>]*>\s*', "", named)
    # A header cell without text is not a header.
    named = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", named)
    return outside(named, config, "../" * page.file.dest_uri.count("/"))


def outside(output: str, config: Any, up: str = "") -> str:
    """Return a page whose scripts are files of their own."""

    def move_script(script_match: re.Match[str]) -> str:
        script = script_match[1].encode()
        name = f"assets/inline/{hashlib.sha256(script).hexdigest()[:12]}.js"
        path = Path(config.site_dir) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(script)
        return f'<script src="{up}{name}"></script>'

    page = INLINE.sub(move_script, output)
    if refused := FORBIDDEN.search(re.sub(r"<code>.*?</code>", "", page, flags=re.DOTALL)):
        raise ValueError(f"the policy of the site refuses {refused[0]!r}")
    return page
