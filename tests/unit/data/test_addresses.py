"""Addresses that redirect, as the hosts of models do."""

from __future__ import annotations

import io
import urllib.request
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.response import addinfourl

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, write, write_shards
from webnnm import DataError
from webnnm.data.files.addresses import may_redirect

HUB = "https://huggingface.co/someone/model/resolve/main/"
STORE = "https://cas-bridge.xethub.hf.co/"
SAME = "https://huggingface.co/api/resolve-cache/models/someone/model/"


class Hub:
    """A host of models that sends to its store, instead of the network."""

    def __init__(self, files: Mapping[str, bytes], store: str) -> None:
        self.files, self.store = files, store
        self.asked: list[str] = []

    def answer(self, _: Any, request: Any) -> Any:
        address: str = request.full_url
        self.asked.append(address)
        headers, name = Message(), address.rpartition("/")[2]
        data, code = self.files.get(name, b""), 200 if name in self.files else 404
        if address.startswith(HUB) and code == 200:
            to = self.store if name.endswith(".safetensors") else SAME
            headers["Location"], data, code = to + name, b"", 302
        headers["Content-Length"] = str(len(data))
        found: Any = addinfourl(io.BytesIO(data), headers, address, code)
        found.msg = "as it is"
        return found


async def load(folder: Path, monkeypatch: pytest.MonkeyPatch, store: str) -> Hub:
    folder = write(folder, CONFIG, write_shards())
    hub = Hub({path.name: path.read_bytes() for path in folder.iterdir()}, store)
    for handler, name in (("HTTPSHandler", "https_open"), ("HTTPHandler", "http_open")):
        monkeypatch.setattr(getattr(urllib.request, handler), name, lambda *each: hub.answer(*each))
    try:
        model = await webnnm.from_pretrained(HUB.rstrip("/"), backend="numpy", log=lambda _: None)
        model.close()
    except DataError as error:
        assert error.code == "NNM715"
        assert "redirects to another origin, http://" in error.message
    return hub


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("store", "reached"),
    [
        (STORE, True),
        (SAME, True),
        ("http://192.168.0.1/", False),
        ("http://huggingface.co/", False),
    ],
)
async def test_shards_come_from_the_store_of_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, reached: bool
) -> None:
    hub = await load(tmp_path, monkeypatch, store)
    shards = [each for each in hub.asked if each.startswith(f"{store}model-0000")]
    assert len(shards) == (2 if reached else 0)
    assert f"{HUB}model-00001-of-00002.safetensors" in hub.asked


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("https://host/b", True),
        ("https://host:444/b", True),
        ("https://other/b", True),
        ("http://host/b", False),
        ("file:///etc/passwd", False),
        ("ftp://host/b", False),
        ("//host/b", False),
        ("data:,x", False),
    ],
)
def test_redirects_from_https_lead_to_https(target: str, expected: bool) -> None:
    assert may_redirect("https://host/a", target) is expected


def test_redirects_from_http_stay_at_the_origin() -> None:
    assert may_redirect("http://host/a", "http://host/b")
    for target in ("http://host:81/b", "http://other/b", "https://host/b", "https://other/b"):
        assert not may_redirect("http://host/a", target)
