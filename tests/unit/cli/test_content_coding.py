"""Which of a file's compressed copies `webnnm serve` sends, and what it says of them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from webnnm import cli
from webnnm.cli.content_coding import choose_coding, find_copies, is_copy, parse_weights
from webnnm.cli.validators import allows_range, is_unchanged

pytestmark = pytest.mark.desktop

TEXT = b"const text = 'the same again and again';\n" * 40
PACKED = gzip.compress(TEXT, mtime=0)
BROTLI = b"what brotli made of it"
NAME = "a.mjs"
BOTH = ("br", "gzip")
CODINGS = {
    None: "identity",
    "": "identity",
    "gzip, deflate, br, zstd": "br",
    "gzip, deflate": "gzip",
    "GZip": "gzip",
    "x-gzip": "gzip",
    "deflate, zstd": "identity",
    "identity": "identity",
    "*": "br",
    "*;q=0": "identity",
    "br;q=0, *": "gzip",
    "br;q=0": "identity",
    "br; q=0.5 , gzip;q=0.8": "gzip",
    "br;q=0.50,gzip;q=.8": "br",
    "gzip;q=1.0, br;q=1.000": "br",
    "gzip;q=0.001": "gzip",
    "gzip;q=0.0": "identity",
    "gzip;q=2": "identity",
    "gzip;q=x": "identity",
    "gzip;level=1": "identity",
    "gzip;q=0.5, identity": "identity",
    "gzip;q=0.5, identity;q=0.5": "gzip",
    "gzip;q=0.5, *;q=0.2": "gzip",
    "identity;q=0": "identity",
    "identity;q=0, *;q=0": "identity",
    ", ,br,": "br",
}
"""Accept-Encoding → the coding of a file of which there are both copies."""


@pytest.mark.parametrize("header", CODINGS)
def test_the_coding_is_the_one_that_the_client_wants_most(header: str | None) -> None:
    assert choose_coding(header, BOTH) == CODINGS[header]
    assert choose_coding(header, ()) == "identity"


def test_only_copies_that_exist_are_chosen() -> None:
    assert choose_coding("br, gzip;q=0.5", ["gzip"]) == "gzip"
    assert choose_coding("br", ["gzip"]) == "identity"
    assert choose_coding("*", ["gzip"]) == "gzip"


def test_of_weights_that_are_malformed_none_counts() -> None:
    assert parse_weights("a;q=1.0001, b;q=-1, c;q=0.1234, d;q=1;x=1") == dict.fromkeys("abcd", 0.0)


@pytest.mark.parametrize(
    ("header", "unchanged"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
        ('"b"', False),
        ('"ab"', False),
        ("a", False),
        ("", False),
        (None, False),
    ],
)
def test_a_client_has_what_its_tags_name(header: str | None, unchanged: bool) -> None:
    assert is_unchanged(header, '"a"') == unchanged


def test_a_part_is_continued_only_if_it_is_of_the_same_representation() -> None:
    assert allows_range('"a"', '"a"', "Sunday")
    assert allows_range("Sunday", '"a"', "Sunday")
    assert allows_range(None, '"a"', "Sunday")
    for other in ('W/"a"', '"b"', "Monday", ""):
        assert not allows_range(other, '"a"', "Sunday")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file that has both copies, and one that has none."""
    for name, content in {NAME: TEXT, f"{NAME}.br": BROTLI, f"{NAME}.gz": PACKED}.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1_000_000, 1_000_000))
    (tmp_path / "plain.css").write_bytes(TEXT)
    return tmp_path


@pytest.fixture
def connection(folder: Path) -> Iterator[HTTPConnection]:
    with cli.serve.SiteServer(folder) as server:
        connection = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        yield connection
        connection.close()


def ask(
    connection: HTTPConnection, method: str = "GET", name: str = NAME, **headers: str
) -> tuple[int, HTTPMessage, bytes]:
    """Ask for a file; headers have underscores for hyphens."""
    connection.putrequest(method, f"/{name}", skip_accept_encoding=True)
    for header, value in headers.items():
        connection.putheader(header.replace("_", "-"), value)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def test_a_copy_is_written_right_after_its_file_or_none(folder: Path) -> None:
    assert [*find_copies(folder / NAME)] == [*BOTH]
    assert find_copies(folder / "plain.css") == {}
    os.utime(folder / f"{NAME}.br", (999_999, 999_999))
    assert [*find_copies(folder / NAME)] == ["gzip"]
    # A file that was replaced by one of an earlier date.
    os.utime(folder / NAME, (900_000, 900_000))
    assert find_copies(folder / NAME) == {}
    assert is_copy(folder / f"{NAME}.gz")
    (folder / "digits.csv.gz").write_bytes(PACKED)
    assert not is_copy(folder / "digits.csv.gz")
    assert not is_copy(folder / NAME)


@pytest.mark.parametrize(
    ("accepted", "coding", "content"),
    [("gzip, br", "br", BROTLI), ("gzip", "gzip", PACKED), ("zstd", None, TEXT), ("", None, TEXT)],
)
def test_what_is_accepted_is_sent_with_the_type_of_the_file(
    connection: HTTPConnection, accepted: str, coding: str | None, content: bytes
) -> None:
    status, headers, body = ask(connection, Accept_Encoding=accepted)
    assert (status, headers["Content-Encoding"], body) == (200, coding, content)
    assert headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert headers["Content-Length"] == str(len(content))
    assert headers["Vary"] == "Accept-Encoding"
    assert headers["Cache-Control"] == "no-cache"


def test_a_file_without_copies_is_sent_as_it_is(connection: HTTPConnection) -> None:
    status, headers, body = ask(connection, name="plain.css", Accept_Encoding="br, gzip")
    assert (status, headers["Content-Encoding"], headers["Vary"], body) == (200, None, None, TEXT)


def test_an_edited_file_is_sent_instead_of_what_was_made_of_it(
    folder: Path, connection: HTTPConnection
) -> None:
    (folder / NAME).write_bytes(b"edited")
    status, headers, body = ask(connection, Accept_Encoding="br, gzip")
    assert (status, headers["Content-Encoding"], body) == (200, None, b"edited")


def test_a_copy_that_leads_out_of_the_folder_is_not_sent(
    folder: Path, connection: HTTPConnection, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_bytes(b"secret")
    (folder / f"{NAME}.br").unlink()
    (folder / f"{NAME}.br").symlink_to(secret)
    status, headers, body = ask(connection, Accept_Encoding="br")
    assert (status, headers["Content-Encoding"], body) == (200, None, TEXT)


def test_each_coding_has_a_tag_of_its_own_and_is_not_sent_twice(
    folder: Path, connection: HTTPConnection
) -> None:
    tags: dict[str, str] = {}
    for accepted in ("br", "gzip", "identity"):
        tags[accepted] = ask(connection, Accept_Encoding=accepted)[1]["ETag"]
        assert tags[accepted].startswith('"')
    assert len({*tags.values()}) == 3
    for accepted, tag in tags.items():
        for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            status, headers, body = ask(connection, Accept_Encoding=accepted, If_None_Match=sent)
            assert (status, body, headers["ETag"]) == (304, b"", tag)
            assert headers["Vary"] == "Accept-Encoding"
            assert headers["Cache-Control"] == "no-cache"
    assert ask(connection, Accept_Encoding="gzip", If_None_Match=tags["br"])[0] == 200
    os.utime(folder / NAME, (1_000_001, 1_000_001))
    assert ask(connection, Accept_Encoding="identity", If_None_Match=tags["identity"])[0] == 200


@pytest.mark.parametrize(("accepted", "whole"), [("identity", TEXT), ("gzip", PACKED)])
def test_the_rest_of_a_download_is_of_the_coding_that_began_it(
    connection: HTTPConnection, accepted: str, whole: bytes
) -> None:
    tag = ask(connection, Accept_Encoding=accepted)[1]["ETag"]
    begun = {"Accept_Encoding": accepted, "Range": "bytes=7-", "If_Range": tag}
    status, headers, body = ask(connection, **begun)
    assert (status, body) == (206, whole[7:])
    assert headers["Content-Range"] == f"bytes 7-{len(whole) - 1}/{len(whole)}"
    assert headers["Content-Encoding"] == (None if accepted == "identity" else accepted)
    assert headers["ETag"] == tag
    status, headers, body = ask(connection, **(begun | {"Accept_Encoding": "br"}))
    assert (status, headers["Content-Encoding"], body) == (200, "br", BROTLI)
    assert ask(connection, **(begun | {"Range": f"bytes={len(whole)}-"}))[0] == 200


@pytest.mark.parametrize("name", [NAME, "plain.css", "none", "favicon.ico", ""])
@pytest.mark.parametrize("accepted", ["br", "identity"])
def test_head_says_what_get_says(connection: HTTPConnection, name: str, accepted: str) -> None:
    answers = [ask(connection, way, name, Accept_Encoding=accepted) for way in ("GET", "HEAD")]
    (status, headers, _), (head_status, head_headers, body) = answers
    for some in (headers, head_headers):
        del some["Date"]
    assert (head_status, head_headers.items(), body) == (status, headers.items(), b"")


def test_a_rule_of_the_folder_replaces_how_long_files_last(folder: Path) -> None:
    lasting = "public, max-age=31536000, immutable"
    (folder / "_headers").write_text(f"/*.mjs\n  cache-control: {lasting}\n")
    with cli.serve.SiteServer(folder) as server:
        connection = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        for name, control in {NAME: lasting, "plain.css": "no-cache", "b.mjs": "no-store"}.items():
            assert ask(connection, name=name)[1].get_all("Cache-Control") == [control]
        connection.close()
