"""The file `_headers` of a folder, and what the server makes of it."""

from __future__ import annotations

from pathlib import Path
from urllib.request import urlopen

import pytest

from webnnm import DataError, cli
from webnnm.cli.headers import header_rules, headers_for
from webnnm.cli.program import main

TEXT = """
# What the pages may do.
/*
  X-One: 1
/deep/*.html
  X-One:  2
  Content-Security-Policy: script-src 'self'; img-src data:
"""


def test_every_rule_that_fits_counts(tmp_path: Path) -> None:
    (tmp_path / "_headers").write_text(TEXT)
    rules = header_rules(tmp_path)
    assert headers_for("/a.html", rules) == {"X-One": "1"}
    policy = "script-src 'self'; img-src data:"
    both = {"X-One": "1, 2", "Content-Security-Policy": policy}
    assert headers_for("/deep/down/a.html", rules) == both
    assert headers_for("/deep/axhtml", rules) == {"X-One": "1"}
    assert header_rules(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [("  X-One: 1", 1), ("/a\n\nX-One: 1", 3), ("/a\n  X One: 1", 2), ("/a\n  nothing", 2)],
)
def test_a_wrong_line_is_named_before_anything_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int
) -> None:
    (tmp_path / "_headers").write_text(text)
    with pytest.raises(DataError, match=rf"NNM715.*_headers, line {line}: ") as caught:
        header_rules(tmp_path)
    assert "addresses begin with /" in caught.value.hint
    assert main(["serve", str(tmp_path), "--port", "0"]) == 2
    assert f"line {line}" in capsys.readouterr().err


def test_the_server_sends_them_however_an_address_is_written(tmp_path: Path) -> None:
    more = tmp_path / "more"
    for folder in (tmp_path, more, tmp_path / "deep"):
        folder.mkdir(exist_ok=True)
        (folder / "a.html").write_text("a")
    (tmp_path / "_headers").write_text(TEXT)
    (more / "_headers").write_text("/a.html\n  X-More: yes\n")
    with cli.serve.SiteServer(tmp_path, extra_roots={"added": more}) as server:

        def send(address: str, name: str) -> str | None:
            with urlopen(server.url + address) as answer:
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                return answer.headers[name]

        for address in ("/deep/a.html", "//deep/./a.html?b", "/deep/%61.html"):
            assert send(address, "X-One") == "1, 2"
        assert send("/added/a.html", "X-More") == "yes"
        assert send("/a.html", "X-More") is None
