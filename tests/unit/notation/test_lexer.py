"""Tokens, as far as the parser's tests do not show them."""

from __future__ import annotations

from webnnm.notation.lexer import END, ERROR, is_free_text, tokenize, unquote


def kinds(source: str) -> list[str]:
    return [kind for kind, _, _ in tokenize(source).tokens]


def test_every_token_but_a_stray_character_is_its_text() -> None:
    source = "m:layers add(x.0, 1e-5, 50%, a-b, 'c d', {e:-1});"
    for kind, text, start in tokenize(source).tokens:
        assert source.startswith(text, start)
        assert kind not in (ERROR, "")


def test_the_end_is_behind_the_last_token() -> None:
    assert tokenize("a  # comment").tokens[-1] == (END, "", 1)
    assert tokenize("").tokens == [(END, "", 0)]


def test_an_error_ends_the_tokens() -> None:
    lexed = tokenize("a ? b")
    assert [kind for kind, _, _ in lexed.tokens] == ["word", ERROR]
    assert lexed.error is not None
    assert lexed.error.code == "NNM101"


def test_compounds() -> None:
    assert kinds("1-2 -3 +.5 x.y a-b-c 1e-5x 5%") == ["compound"] * 7 + [END]
    assert kinds("a,1 0x10 Infinity") == ["word", ",", "word", "word", "word", END]


def test_free_text_begins_at_statements_only() -> None:
    assert "text" in kinds("m:name a b")
    assert "text" in kinds("x [] 1; m:name a b")
    assert "text" not in kinds("m:input shape={a:name b}")


def test_comments_are_kept_by_the_token_behind_them() -> None:
    assert tokenize("# a\n/* b */ x // c").comments == {0: ["# a", "/* b */"], 1: ["// c"]}


def test_comments_hide_strings_and_strings_hide_comments() -> None:
    assert kinds("# 'a\n 'b # c' /* ' */") == ["string", END]


def test_unquote_and_free_text() -> None:
    assert unquote(r'"a\\b\"c"') == 'a\\b"c'
    assert is_free_text("a/b: 50% (c)")
    assert not is_free_text(" a")
    assert not is_free_text("a // b")
