"""Each lesson of the course has what a lesson has, and its neighbours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.document_files import DOCS, headings, id_of
from tools.docs.markup import exercises

COURSE = DOCS / "course"
LESSONS = sorted(COURSE.glob("[0-9]*.md"))
TITLES = {lesson: headings(lesson)[0] for lesson in LESSONS}


@pytest.mark.parametrize("lesson", LESSONS, ids=id_of)
def test_a_lesson_is_complete(lesson: Path) -> None:
    text = lesson.read_text()
    titles = headings(lesson)
    assert re.fullmatch(rf"Lesson {lesson.name[0]}: .+", titles[0])
    assert "**After this lesson you can**" in text
    assert len([*exercises(text)]) == 3
    named = [title for title in titles if re.match(r"Exercise [123]: ", title)]
    assert [title[9] for title in named] == ["1", "2", "3"]
    assert titles[-2:] == ["To discuss", "What to remember"]


@pytest.mark.parametrize("lesson", LESSONS, ids=id_of)
def test_lessons_lead_on(lesson: Path) -> None:
    last = " ".join(lesson.read_text().rsplit("\n\n", 1)[1].split())
    index = LESSONS.index(lesson)
    for word, neighbour in (("Previous", index - 1), ("Next", index + 1)):
        if 0 <= neighbour < len(LESSONS):
            other = LESSONS[neighbour]
            assert f"{word}: [{TITLES[other]}]({other.name})" in last
    assert "[Overview](README.md)" in last


def test_the_overview_and_the_page_for_the_teacher_have_all_lessons() -> None:
    overview = (COURSE / "README.md").read_text()
    sections = headings(COURSE / "teaching.md")
    for lesson, title in TITLES.items():
        assert f"[{title.split(': ', 1)[1]}]({lesson.name})" in overview
        assert title in sections
