"""The glossary is in order, explains itself briefly, and has the terms that the course uses."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.document_files import DOCS, headings, id_of
from tools.docs import glossary
from tools.docs.glossary import Term, link_terms

TERMS = [*glossary.terms((DOCS / glossary.PAGE).read_text())]
LESSONS = sorted((DOCS / "course").glob("[0-9]*.md"))
INTRODUCED = re.compile(r"\[\*\*([^*]+)\*\*\]\(\.\./glossary\.md#([\w-]+)\)")
SAID_LOUD = {"After this lesson you can", "Run", "Check", "Solution"}
"""What else is bold in a lesson."""


def test_terms_are_in_alphabetical_order() -> None:
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(names)
    assert len(names) == len(headings(DOCS / glossary.PAGE)) - 1, "an entry cannot be read"


def test_no_word_stands_for_two_terms() -> None:
    forms = [form for term in TERMS for form in term.forms]
    assert sorted(form for form in {*forms} if forms.count(form) > 1) == []


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.anchor)
def test_a_definition_is_short_and_leads_on(term: Term) -> None:
    assert 1 <= len(re.findall(r"[.?!](?:\s|$)", term.definition)) <= 2
    assert 30 < len(term.definition) < 260
    assert re.search(r"\]\([\w./-]+\.md(?:#[\w-]+)?\)$", term.text), "a link where it is explained"


@pytest.mark.parametrize("lesson", LESSONS, ids=id_of)
def test_the_terms_of_a_lesson_are_in_the_glossary(lesson: Path) -> None:
    text = re.sub(r"<!--.*?-->|^```.*?^```", "", lesson.read_text(), flags=re.M | re.S)
    text = re.sub(r"\*\*([^*]+)\*\*", lambda bold: f"**{' '.join(bold[1].split())}**", text)
    introduced = INTRODUCED.findall(text)
    assert introduced
    by_anchor = {term.anchor: term for term in TERMS}
    for name, anchor in introduced:
        assert name.lower() in by_anchor[anchor].forms
    bold = {*re.findall(r"\*\*([A-Za-z][^*\d]+[^*.])\*\*", text)}  # no sentences
    assert bold - {name for name, _ in introduced} - SAID_LOUD == set()


def test_terms_are_linked_once_where_they_are_read() -> None:
    assert doctest.testmod(glossary).failed == 0
    epoch = Term("Epoch", ("epoch", "epochs"), 'One "pass" of [training](a.md). [Lesson 2](2.md)')
    rate = Term("Learning rate", ("learning rate",), "How far. [Lesson 2](2.md)")
    kept = "# An epoch\n\n```\nepoch\n```\n\n`epoch` [epoch](x.md) epochal\n\n"
    page = f"{kept}Two *epochs*, learning\nrate\n"
    shown = link_terms(page, "guide.md", [epoch, rate])
    assert shown.count("glossary.md") == 2
    assert """*[epochs](glossary.md#epoch "One 'pass' of training."){ .term }*""" in shown
    assert '[learning\nrate](glossary.md#learning-rate "How far."){ .term }' in shown
    introduced = link_terms("An epoch is an [**epoch**](../glossary.md#epoch).", "c/a.md", [epoch])
    assert introduced.startswith("An epoch is an [**epoch**](../glossary.md#epoch \"One 'pass'")
    written = f"{glossary.GENERATED} -->\n\nAn epoch.\n"
    assert link_terms(written, "rules.md", [epoch]) == written
