"""Names say what things are: functions are verbs, locals are named for what they hold."""

from __future__ import annotations

from tools import words


def test_no_more_functions_are_named_by_a_participle() -> None:
    participles, functions, _ = words.count_words()
    assert functions.total() > 5_000
    total = sum(map(len, participles.values()))
    assert total <= words.MAX_PARTICIPLES, (
        "name functions by a verb: `python -m tools.words --list` names those to change"
    )


def test_no_more_locals_are_vague() -> None:
    _, _, assignments = words.count_words()
    total = sum(assignments[name] for name in words.VAGUE)
    assert total <= words.MAX_VAGUE_LOCALS, f"name locals for what they hold: {words.VAGUE}"


def test_participles_are_told_from_verbs() -> None:
    names = ["_joined", "found_of", "as_written", "held", "feed", "read_rows", "as_array", "embed"]
    assert [name for name in names if words.begins_with_participle(name)] == names[:4]
