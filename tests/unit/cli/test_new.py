"""`new`: a page of the user's, and where its runtime comes from."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from webnnm import NNModel
from webnnm.cli.content_coding import find_copies
from webnnm.core import service_worker

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
cli = pytest.importorskip("webnnm.cli")
main = cli.main
runtime_package = pytest.importorskip("webnnm.cli.runtime_package")
serve = pytest.importorskip("webnnm.cli.serve")

Printed = pytest.CaptureFixture[str]
SERVICE_WORKER = f"{service_worker.UNFILLED}\nrest();\n"
FILES = {
    "package.json": json.dumps({"name": "webnnm-runtime", "version": runtime_package.VERSION}),
    "LICENSE": "MIT",
    "boot.js": "boot",
    "service-worker.js": SERVICE_WORKER,
    "offline.js": "later",
    "licenses/onnxruntime.txt": "MIT",
    "licenses/pyodide.txt": "MPL",
    "pages/common/style.css": "p {}",
    "pages/element/index.html": "a model",
    "pages/pyscript/index.html": "in the page",
    "pages/pyscript/_headers": "/*\n  X: y\n",
    "pages/worker/index.html": "in a worker",
    "vendor/onnxruntime/a.wasm": "large",
    "vendor/pyodide/pyodide.mjs": "python",
    "vendor/pyscript/core.js": "tags",
}


def pack(files: dict[str, str], folder: str = "package") -> bytes:
    """Return an archive as `npm pack` makes it."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return target.getvalue()


@pytest.fixture
def package(tmp_path: Path) -> str:
    path = tmp_path / "runtime.tgz"
    path.write_bytes(pack(FILES))
    return str(path)


def list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_page_has_the_parts_of_its_kind(tmp_path: Path, package: str, capsys: Printed) -> None:
    common = {"style.css", "index.html", "offline.js", "service-worker.js", "vendor/LICENSE"}
    common |= {"vendor/licenses/pyodide.txt", "vendor/pyodide/pyodide.mjs"}
    page = tmp_path / "new" / "page"
    assert main(["new", str(page), "--runtime", package]) == 0
    assert list_files(page) == common | {"boot.js", "_headers", "vendor/pyscript/core.js"}
    assert (page / "index.html").read_text() == "in the page"
    assert capsys.readouterr().out.splitlines()[1] == f"webnnm serve {page}"
    page.joinpath("vendor").rename(tmp_path / "elsewhere")

    other = tmp_path / "worker"
    other.mkdir()  # one that is there and empty will do
    further = ["--kind", "worker", "--with", "onnxruntime", "--json"]
    assert main(["new", str(other), "--runtime", package, *further]) == 0
    onnxruntime = {"vendor/onnxruntime/a.wasm", "vendor/licenses/onnxruntime.txt"}
    assert list_files(other) == common | onnxruntime
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], set(told["files"])) == ("worker", common | onnxruntime)
    kept = (other / "service-worker.js").read_text()
    assert kept.endswith("rest();\n") and '"./index.html"' in kept and '"version": ""' not in kept
    assert "onnxruntime/a.wasm" not in kept and "_headers" not in kept


def test_compressed_copies_are_sent_and_not_cached_a_second_time(tmp_path: Path) -> None:
    (tmp_path / "runtime.tgz").write_bytes(pack({"vendor/pyodide/pyodide.mjs.br": "less", **FILES}))
    page = tmp_path / "page"
    assert main(["new", str(page), "--runtime", str(tmp_path / "runtime.tgz")]) == 0
    assert [*find_copies(page / "vendor/pyodide/pyodide.mjs")] == ["br"]
    cached = (page / "service-worker.js").read_text()
    assert '"./vendor/pyodide/pyodide.mjs"' in cached and ".br" not in cached


def test_a_page_may_show_a_saved_model(tmp_path: Path, package: str, capsys: Printed) -> None:
    source = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);"
    model = asyncio.run(NNModel.create(source=source, backend="numpy", log=lambda _: None))
    snapshot = tmp_path / "mine.safetensors"
    asyncio.run(model.save(snapshot))
    given = ["--runtime", package, "--kind", "element"]
    page = tmp_path / "page"
    assert main(["new", str(page), *given, "--model", str(snapshot)]) == 0
    assert (page / "model.safetensors").read_bytes() == snapshot.read_bytes()
    assert "vendor/pyscript/core.js" not in list_files(page)
    assert '"./model.safetensors"' in (page / "service-worker.js").read_text()
    assert "begin with index.html" in capsys.readouterr().out

    other = tmp_path / "other"
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    for words, code, why in (
        (given, 2, "NNM704: --kind element needs --model"),
        (["--runtime", package, "--model", str(snapshot)], 2, "--kind pyscript takes no --model"),
        ([*given, "--model", str(snapshot)], 1, "NNM801"),
        ([*given, "--model", package], 1, "NNM802"),
    ):
        assert main(["new", str(other), *words]) == code
        assert why in capsys.readouterr().err
    assert not other.exists()


def test_nothing_that_is_there_is_lost(tmp_path: Path, package: str, capsys: Printed) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "index.html").write_text("mine")
    for name in ("full", "full/index.html"):
        assert main(["new", str(tmp_path / name), "--runtime", package]) == 2
        assert "NNM807" in capsys.readouterr().err
    assert list_files(tmp_path / "full") == {"index.html"}
    assert (tmp_path / "full" / "index.html").read_text() == "mine"


def test_a_folder_that_cannot_be_filled_is_left_as_it_was(
    tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "pyodide.mjs":
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/page"):
        assert main(["new", str(tmp_path / name), "--runtime", package]) == 2
        assert "No space left" in capsys.readouterr().err
    assert list_files(tmp_path) == {"runtime.tgz"}
    assert (tmp_path / "empty").is_dir() and not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({**FILES, "package.json": '{"name": "webnnm-runtime", "version": "9"}'}, "runtime 9"),
        ({**FILES, "package.json": '{"name": "pyodide", "version": "314"}'}, "it is pyodide 314"),
        ({"index.html": ""}, "no package.json"),
        (None, "not an archive"),
    ],
)
def test_another_package_is_refused(
    tmp_path: Path, files: dict[str, str] | None, why: str, capsys: Printed
) -> None:
    path = tmp_path / "other.tgz"
    path.write_bytes(b"text" if files is None else pack(files))
    assert main(["new", str(tmp_path / "page"), "--runtime", str(path)]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "page").exists()


def test_an_archive_writes_nothing_outside_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(pack({**FILES, "pages/common/../../../../evil": "", "vendor//etc/a": ""}))
    assert main(["new", str(tmp_path / "page"), "--runtime", str(path)]) == 0
    assert "vendor/etc/a" in list_files(tmp_path / "page")
    assert not list(tmp_path.rglob("evil"))


def test_the_package_may_be_a_folder(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    given = ["--runtime", str(tmp_path / "package")]
    assert main(["new", str(tmp_path / "page"), *given]) == 0
    assert "vendor/pyodide/pyodide.mjs" in list_files(tmp_path / "page")


class Registry:
    """A folder that npm's client takes for its registry, and what is published in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def publish(self, archive: bytes, url: str) -> None:
        """Lay the package out as a registry does: what versions there are, and the archives."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / runtime_package.ARCHIVE).write_bytes(archive)
        version = runtime_package.VERSION
        dist = {"tarball": f"{url}/{runtime_package.ARCHIVE}"}
        known = {"name": runtime_package.NAME, "version": version, "dist": dist}
        facts = {"name": known["name"], "versions": {version: known}}
        (self.folder / runtime_package.NAME).write_text(json.dumps(facts))


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_npm_fetches_the_package_once(
    tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    archive = Path(package).read_bytes()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    record = tmp_path / "runtime.json"
    monkeypatch.setattr(runtime_package, "RECORD", record)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    fetches = f"npm fetches webnnm-runtime@{runtime_package.VERSION}\n"

    def new(name: str, registry: str) -> tuple[int, str]:
        monkeypatch.setenv("npm_config_registry", registry)
        # A cache of its own: npm would have a file of the same name again.
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm" / name))
        code: int = main(["new", str(tmp_path / name)])
        return code, capsys.readouterr().err

    code, told = new("a", "http://localhost:1")
    assert code == 2 and "was not installed from a release" in told

    record.write_text(json.dumps({"integrity": runtime_package.integrity_of(archive)}))
    registry = Registry(tmp_path / "registry")
    kept = tmp_path / "cache" / "webnnm" / runtime_package.ARCHIVE
    with serve.SiteServer(registry.folder) as server:
        registry.publish(pack({**FILES, "boot.js": "another"}), server.url)
        code, told = new("a", server.url)
        assert code == 1 and "NNM801" in told and not kept.exists()
        registry.publish(archive, server.url)
        assert new("a", server.url) == (0, fetches)
    assert kept.read_bytes() == archive
    # The server is gone.
    assert new("b", server.url) == (0, "")
    assert list_files(tmp_path / "a") == list_files(tmp_path / "b")
    kept.write_bytes(archive[:-100])
    code, told = new("c", server.url)
    assert code == 2 and "is damaged" in told and "npm cannot fetch" in told
    assert "ECONNREFUSED" in told
    assert f"npm pack webnnm-runtime@{runtime_package.VERSION}" in told
    assert not (tmp_path / "c").exists()
    # Where nothing can be kept, the page is written all the same.
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file")
    with serve.SiteServer(registry.folder) as server:
        registry.publish(archive, server.url)
        code, told = new("d", server.url)
    assert code == 0 and "cannot be cached" in told
    assert list_files(tmp_path / "d") == list_files(tmp_path / "a")


def test_who_has_no_npm_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    record = tmp_path / "runtime.json"
    record.write_text(json.dumps({"integrity": "sha512-"}))
    monkeypatch.setattr(runtime_package, "RECORD", record)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    assert main(["new", str(tmp_path / "page")]) == 2
    told = capsys.readouterr().err
    assert "npm, which fetches it, is not installed" in told and "--runtime" in told
    assert not (tmp_path / "page").exists()


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {"XDG_CACHE_HOME": "/var/mine"}, "/var/mine/webnnm"),
        ("linux", {"XDG_CACHE_HOME": "mine"}, "~/.cache/webnnm"),
        ("linux", {"XDG_CACHE_HOME": ""}, "~/.cache/webnnm"),
        ("darwin", {}, "~/Library/Caches/webnnm"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/webnnm/Cache"),
    ],
)
def test_the_cache_lies_where_the_system_has_caches(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, Any], place: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert runtime_package.cache_folder() == Path(place).expanduser()
