"""What a file refers to is below its own folder, or refused by name, before anything is opened."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, write, write_shards
from webnnm import DataError, ModelError, NNModel
from webnnm.core.arrays import HostArray
from webnnm.data.files.references import read_path, read_reference, refer
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.messages import (
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    StringStringEntryProto,
    TensorProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.writer import serialize

OUTSIDE = (
    "/etc/passwd",
    "/proc/self/environ",
    "//host/share",
    "\\\\host\\share",
    "..\\w.bin",
    "../w.bin",
    "a/../../w.bin",
    "a/../w.bin",
    "..",
    ".",
    "./",
    "",
    "C:\\w.bin",
    "c:w.bin",
    "w.bin:stream",
    "http://127.0.0.1:9/w.bin",
    "HTTPS://host/w.bin",
    "file:///etc/passwd",
    "ftp://host/w.bin",
    "data:,x",
    "browser:w",
    "%2e%2e/w.bin",
    "%2E./w.bin",
    "a%2f..%2f..%2fw.bin",
    "%252e%252e/w.bin",
    "%2fetc/passwd",
    "%5c%5chost",
    "w.bin\0.png",
    "w%00.bin",
    "w.bin\n",
    "a//w.bin",
    "a/",
    ".. /w.bin",
    ".../w.bin",
    "w.bin.",
    None,
    5,
    ["w.bin"],
)


@pytest.mark.parametrize("owner", ["net.onnx", "", "https://host/models/net.onnx?x=1"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_lead_elsewhere_are_refused(owner: str, name: Any) -> None:
    with pytest.raises(DataError, match=r"NNM809: .* refers to ") as caught:
        refer(owner, name)
    assert 'references="anywhere"' in caught.value.hint


def test_names_below_the_folder_are_located(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "w b.bin").write_bytes(b"weights")
    for name in ("a/w b.bin", "./a/w b.bin", "a/./w b.bin"):
        found = refer(tmp_path / "net.onnx", name)
        assert found.location == (tmp_path / "a" / "w b.bin").resolve()
        assert bytes(read_path(Path(found.location))) == b"weights"
    there = refer("https://host/models/net.onnx?token=a/b#c", "a/w b%1.bin")
    assert there == ("https://host/models/a/w%20b%251.bin", True)


@pytest.mark.desktop
def test_links_are_followed_first(tmp_path: Path) -> None:
    folder, secret = tmp_path / "model", tmp_path / "secret.bin"
    (folder / "inner").mkdir(parents=True)
    secret.write_bytes(b"secret")
    (folder / "w.bin").symlink_to(secret)
    (folder / "out").symlink_to(tmp_path)
    (folder / "circle").symlink_to("circle")
    (folder / "kept").symlink_to("inner/w.bin")
    (folder / "inner" / "w.bin").write_bytes(b"inner")
    for name in ("w.bin", "out/secret.bin", "circle"):
        with pytest.raises(DataError, match=r"NNM809"):
            refer(folder / "net.onnx", name)
    assert refer(folder / "net.onnx", "kept").location == (folder / "inner/w.bin").resolve()


@pytest.mark.desktop
def test_caches_link_to_one_folder(tmp_path: Path) -> None:
    """The cache of huggingface_hub has links from snapshots/REVISION/NAME to blobs/HASH."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "1"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    for name in ("net.onnx", "w.bin"):
        (blobs / f"hash of {name}").write_bytes(name.encode())
        (snapshot / name).symlink_to(f"../../blobs/hash of {name}")
    found = refer(snapshot / "net.onnx", "w.bin").location
    assert found == (blobs / "hash of w.bin").resolve()


@pytest.mark.desktop
def test_what_is_not_a_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "none", "."):
        with pytest.raises(DataError, match=r"NNM715: .* there is no such file"):
            read_path(tmp_path / name)
    (tmp_path / "empty").touch()
    assert not read_path(tmp_path / "empty")


@pytest.mark.desktop
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "folder"])
async def test_folders_may_hold_what_is_no_file(tmp_path: Path, kind: str) -> None:
    """Pipes block whoever opens them, and devices have no end."""

    def put(path: Path) -> Path:
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to(kind)
        return path

    for name in ("base", "config.json", "model.safetensors"):
        (tmp_path / name).mkdir()
    quiet: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    whole = await webnnm.from_pretrained(write(tmp_path / "base"), **quiet)
    await whole.add_lora(rank=2)
    await whole.save_lora(tmp_path / "adapter")
    await whole.remove_lora()
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        put(tmp_path / "adapter" / name)
        with pytest.raises(DataError, match=r"NNM715: .* there is no such file"):
            await whole.load_lora(tmp_path / "adapter")
    whole.close()
    for name in ("config.json", "model.safetensors"):
        put(write(tmp_path / name) / name)
        with pytest.raises(DataError, match=r"NNM715: .*there is no such file"):
            await webnnm.from_pretrained(tmp_path / name, **quiet)
    put(tmp_path / "net.onnx")
    text = 'm:input shape=[2]; b:source "net.onnx"; m:output shape=[2]; m:layers b();'
    with chdir(tmp_path):
        (error,) = webnnm.check(text)
    assert error.code == ("NNM809" if kind == "/dev/zero" else "NNM715")  # a link to the outside


def test_users_can_allow_more(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for place in (folder, tmp_path):
        (place / "w.bin").write_bytes(b"")
    owner = folder / "net.onnx"
    assert Path(refer(owner, "../w.bin", "anywhere").location).resolve() == tmp_path / "w.bin"
    assert refer(owner, "../w.bin", tmp_path).location == (tmp_path / "w.bin").resolve()
    assert refer(owner, "http://host/w", "anywhere") == ("http://host/w", False)
    assert refer(owner, "http://host/a/w", "http://host/a").location == "http://host/a/w"
    for root in (tmp_path / "other", "http://host/a"):  # besides its own folder
        assert refer(owner, "w.bin", root).location == (folder / "w.bin").resolve()
    net = "http://host/a/net.onnx"
    assert refer(net, "w.bin", "http://host/b") == ("http://host/a/w.bin", True)
    assert refer(net, "/b/w.bin", "http://host").location == "http://host/b/w.bin"
    for name, root in (
        ("../w.bin", folder),
        ("/etc/passwd", tmp_path),
        ("http://host/w", tmp_path),
        ("http://host/b/w", "http://host/a"),
        ("http://host/a/../b", "http://host/a"),
        ("http://host.evil/a", "http://host"),
        ("../w.bin", "http://host/a"),
    ):
        with pytest.raises(DataError, match=r"NNM809: .*not below"):
            refer(owner, name, root)


class Touched:
    """Files that are opened, and addresses that are asked for, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, words: tuple[Any, ...]) -> None:
        if self.on and (event == "open" or event.startswith(("socket.", "urllib."))):
            self.seen.append(f"{event} {words[0]}")


@pytest.fixture(scope="module")
def touched() -> Touched:
    return Touched()


def external(name: str) -> bytes:
    """Return an ONNX model whose weight is in another file."""
    place = [StringStringEntryProto("location", name)]
    weight = TensorProto([2], 1, name="w", data_location=1, external_data=place)
    kind = TypeProto(TensorTypeProto(1, None))
    graph = GraphProto(
        node=[NodeProto(["x", "w"], ["y"], op_type="Add")],
        initializer=[weight],
        input=[ValueInfoProto("x", kind)],
        output=[ValueInfoProto("y")],
    )
    return serialize(ModelProto(graph=graph, opset_import=[OperatorSetIdProto("", 21)]))


NAMES = [name for name in OUTSIDE if isinstance(name, str) and name and name.isprintable()]


@pytest.mark.desktop
@pytest.mark.parametrize("name", NAMES)
async def test_nothing_outside_is_touched(tmp_path: Path, touched: Touched, name: str) -> None:
    (tmp_path / "net.onnx").write_bytes(external(name))
    text = tmp_path / "net.nnm"
    quoted = name.replace("\\", "\\\\")
    text.write_text(f'm:input shape=[2]; b:source "{quoted}"; m:output shape=[2]; m:layers b();')
    index = json.dumps({"weight_map": {"a": name}})
    write(tmp_path, CONFIG, {"model.safetensors.index.json": index.encode()})
    touched.seen.clear()
    touched.on = True
    try:
        with pytest.raises(DataError, match=r"NNM809"):
            await webnnm.load_onnx(tmp_path / "net.onnx", backend="numpy")
        with pytest.raises(ModelError, match=r"NNM809"):
            await NNModel.create(path=text, backend="numpy", log=lambda _: None)
        with pytest.raises(DataError, match=r"NNM809"):
            await webnnm.from_pretrained(tmp_path, backend="numpy", log=lambda _: None)
        assert [error.code for error in webnnm.check(text.read_text())] == ["NNM809"]
    finally:
        touched.on = False
    others = [each for each in touched.seen if str(tmp_path) not in each and ".py" not in each]
    assert not others


async def test_weights_and_shards_below_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    data = HostArray.of([1.0, 2.0])
    (tmp_path / "w" / "a.bin").write_bytes(data.data)
    (tmp_path / "net.onnx").write_bytes(external("w/a.bin"))
    net = await webnnm.load_onnx(str(tmp_path / "net.onnx"), backend="numpy")
    assert (await net.predict({"x": [1.0, 1.0]}))["y"].tolist() == [2.0, 3.0]
    net.close()
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "net.onnx").write_bytes(external("../w/a.bin"))
    path = str(tmp_path / "far" / "net.onnx")
    for references in ("anywhere", str(tmp_path), tmp_path):
        net = await webnnm.load_onnx(path, backend="numpy", references=references)
        net.close()
    text = 'm:input shape=[2]; b:source "net.onnx"; m:output shape=[2]; m:layers b();'
    (tmp_path / "far" / "net.nnm").write_text(text)
    (tmp_path / "net.onnx").write_bytes(external("../w/a.bin"))
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None, "references": tmp_path}
    model = await NNModel.create(path=str(tmp_path / "far" / "net.nnm"), **settings)
    model.close()
    files = {name.replace("model-", "w/model-"): data for name, data in write_shards().items()}
    index = "model.safetensors.index.json"
    files[index] = files[index].replace(b"model-0", b"w/model-0")
    pretrained = await webnnm.from_pretrained(
        write(tmp_path, CONFIG, files), backend="numpy", log=lambda _: None
    )
    pretrained.close()


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server that redirects, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.headers['Host']}{self.path}")
            port = self.server.server_port  # type: ignore[attr-defined]
            targets = {
                "/m/away.bin": f"http://localhost:{port}/secret",
                "/m/near.bin": "/m/w.bin",
                "/m/file.bin": "file:///etc/passwd",
            }
            self.send_response(302 if self.path in targets else 200)
            if self.path in targets:
                self.send_header("Location", targets[self.path])
            self.send_header("Content-Length", "0" if self.path in targets else "8")
            self.end_headers()
            if self.path not in targets:
                self.wfile.write(bytes(8))

        def log_message(self, format: str, *args: object) -> None:
            """Keep the terminal clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.desktop
async def test_servers_must_not_redirect_elsewhere(elsewhere: tuple[str, list[str]]) -> None:
    address, asked = elsewhere
    net = f"{address}/m/net.onnx"
    assert bytes(await read_reference(refer(net, "w.bin"))) == bytes(8)
    assert bytes(await read_reference(refer(net, "near.bin"))) == bytes(8)
    for name in ("away.bin", "file.bin"):
        with pytest.raises(DataError, match=r"NNM715: .*[Rr]edirect") as caught:
            await read_reference(refer(net, name))
        caught.value.__cause__.close()  # type: ignore[union-attr]
    assert not [each for each in asked if "secret" in each]
    assert bytes(await read_reference(refer(net, "away.bin", "anywhere"))) == bytes(8)
    assert [each for each in asked if "secret" in each]


def test_files_that_are_given_as_bytes_refer_to_nothing() -> None:
    with pytest.raises(DataError, match=r"NNM811: the weights of this model are in another file"):
        tensors.host_array(
            TensorProto(
                [2], 1, data_location=1, external_data=[StringStringEntryProto("location", "/x")]
            )
        )
