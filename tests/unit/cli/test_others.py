"""`show`, `ops`, `export`, `convert`, `serve` and `probe`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.unit.cli.shared import ROOT, SOFTMAX, command, run, strict
from tests.unit.compiler.legalising import chromium_limits
from webnnm import DataError, ops
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks, read

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
cli = pytest.importorskip("webnnm.cli")
main = cli.main

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.nnm"
    path.write_text(SOFTMAX)
    return str(path)


def capture_output(capsys: Printed, *arguments: str) -> str:
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.err == ""
    return told.out


def every_command() -> list[str]:
    from webnnm.cli.program import parser

    (commands,) = [a.choices for a in parser()._actions if a.dest == "command"]
    assert commands is not None
    return list(commands)


# The program.


def test_every_command_that_was_asked_for() -> None:
    words = "check format show review gradcheck explain ops train test predict export convert "
    words += "new serve probe describe suggest"
    assert sorted(every_command()) == sorted(words.split())


@pytest.mark.parametrize("name", every_command())
def test_every_command_has_help_and_json(name: str, capsys: Printed) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out


def test_a_reader_may_leave_early(model: str) -> None:
    with subprocess.Popen(
        command("ops", "--json"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None and program.stderr is not None
        program.stdout.read(1)
        program.stdout.close()
        told = program.stderr.read()
    assert (program.returncode, told) == (0, b"")


# show


def test_layers_graph_and_plan(model: str, capsys: Printed) -> None:
    assert "matmul1      float32[3]  w1 [4, 3]           12" in capture_output(
        capsys, "show", model
    )
    graph = capture_output(capsys, "show", model, "--graph", "--batch", "7")
    assert "add1          float32[7, 3]  add(matmul1, param/b1)" in graph.splitlines()
    plan = strict(capture_output(capsys, "show", model, "--plan"))
    assert [operator["op"] for operator in plan["operators"]] == ["matmul", "add", "softmax"]
    found = strict(capture_output(capsys, "show", model, "--json"))
    assert found["parameters"][0] == {
        "name": "w1",
        "dtype": "float32",
        "shape": [4, 3],
        "trainable": True,
    }
    assert [layer["operator"] for layer in found["layers"]] == ["matmul", "add", "softmax"]
    assert found["inputs"] == [{"name": "model", "dtype": "float32", "shape": [4]}]


def test_sequences_have_the_length_that_is_given(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "s.nnm"
    path.write_text(
        "s:input shape=[2] sequence=words; s:output shape=[3]; s:layers lstm(w, r, hiddenSize=3);"
    )
    assert main(["show", str(path), "--graph"]) == 1
    assert "NNM711" in capsys.readouterr().err
    text = capture_output(capsys, "show", str(path), "--graph", "--sequence", "words=5")
    assert "float32[1, 5, 2]" in text
    assert (
        strict(capture_output(capsys, "show", str(path), "--json"))["inputs"][0]["sequence"]
        == "words"
    )
    assert main(["show", str(path), "--graph", "--sequence", "words"]) == 2
    assert "NAME=LENGTH" in capsys.readouterr().err


def test_graphs_after_passes_and_for_a_browser(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "m.nnm"
    path.write_text(
        "m:input int8 shape=[2, 6, 6]; m:output shape=[4, 4, 4];"
        "m:layers cast(float32), conv2d(f, filters=4, kernel=[3, 3]), add(b), hardSwish();"
    )
    whole = capture_output(capsys, "show", str(path), "--after", "finish")
    limits = tmp_path / "limits.json"
    some = {o.native: {} for o in ops.registry().values() if o.native not in ("", "hardSwish")}
    limits.write_text(json.dumps({**some, "preferredInputLayout": "nhwc"}))
    before = capture_output(capsys, "show", str(path), "--graph")
    passed = capture_output(
        capsys, "show", str(path), "--after", "choices", "--limits", str(limits)
    )
    assert "transpose" not in before and "transpose" in passed
    fitted = capture_output(capsys, "show", str(path), "--after", "finish", "--limits", str(limits))
    assert fitted != whole
    assert "- hardSwish" in fitted and "the browser lacks this operator" in fitted
    found = strict(
        capture_output(
            capsys, "show", str(path), "--after", "finish", "--limits", str(limits), "--json"
        )
    )
    assert found["rewrites"] and "hardSwish" not in {o["op"] for o in found["graph"]["operators"]}
    limits.write_text("[")
    assert main(["show", str(path), "--limits", str(limits)]) == 2
    assert "not JSON" in capsys.readouterr().err


def test_the_limits_of_a_real_browser(model: str, tmp_path: Path, capsys: Printed) -> None:
    known = chromium_limits()
    limits = tmp_path / "limits.json"
    limits.write_text(json.dumps(known))
    given = ("--after", "finish", "--limits", str(limits))
    assert "softmax" in capture_output(capsys, "show", model, *given)


# ops


def test_every_operator_is_listed_and_told_of(capsys: Printed) -> None:
    lines = capture_output(capsys, "ops").splitlines()
    assert [line.split()[0] for line in lines] == list(ops.registry())
    listed = strict(capture_output(capsys, "ops", "--json"))
    assert [one["name"] for one in listed] == list(ops.registry())
    for name in ops.registry():
        told = strict(capture_output(capsys, "ops", name, "--json"))
        assert told["python"].startswith("b.") and told["example"]
        assert capture_output(capsys, "ops", name).startswith(f"{name}: {told['summary']}\n")


def test_operators_by_any_spelling(capsys: Printed) -> None:
    pages = {capture_output(capsys, "ops", word) for word in ("layerNorm", "layer_normalization")}
    assert len(pages) == 1 and pages.pop().startswith("layerNormalization: ")
    assert main(["ops", "sofmax"]) == 2
    assert 'did you mean "softmax"?' in capsys.readouterr().err


# export, convert


def parameters(path: Path) -> dict[str, Any]:
    return {name: t.array().tolist() for name, t in read(path.read_bytes()).tensors.items()}


def test_the_option_that_fixes_the_length_of_a_file_is_named(
    tmp_path: Path, capsys: Printed
) -> None:
    text = tmp_path / "steps.nnm"
    text.write_text(
        "m:input shape=[2] sequence=time; m:output shape=[3]; m:layers lstm(w, r, hiddenSize=3);"
    )
    arguments = ["export", str(text), "--format", "stablehlo"]
    assert main(arguments) == 1
    assert "hint: --sequence 128 fixes the length" in capsys.readouterr().err
    assert main([*arguments, "--sequence", "4"]) == 0
    assert "tensor<?x4x2xf32>" in capsys.readouterr().out


def test_parameters_are_exported_by_name(model: str, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "p.safetensors"
    assert main(["export", model, "--out", str(out)]) == 0
    assert capsys.readouterr() == ("", f"saved {out}\n")
    assert {n: len(v) for n, v in parameters(out).items()} == {"w1": 4, "b1": 3}
    assert read(out.read_bytes()).metadata == {}
    assert main(["export", model, "--format", "params"]) == 2
    assert main(["export", model]) == 2
    assert main(["export", model, "--out", f"{out}.h5"]) == 2
    assert "--out FILE" in capsys.readouterr().err
    told = capture_output(
        capsys, "export", model, "--format", "params", "--out", str(out), "--json"
    )
    assert strict(told)["saved"] == str(out)


@pytest.fixture
def weights(tmp_path: Path) -> str:
    path = tmp_path / "theirs.safetensors"
    given = {
        "fc.weight": HostArray.of([[float(3 * row + k) for k in range(4)] for row in range(3)]),
        "fc.bias": HostArray.of([1.0, 2.0, 3.0]),
    }
    path.write_bytes(b"".join(chunks(given, {})))
    return str(path)


def test_weights_become_a_snapshot(
    model: str, weights: str, tmp_path: Path, capsys: Printed
) -> None:
    names, out = tmp_path / "names.json", tmp_path / "ours.safetensors"
    names.write_text('{"w{n}": {"transposed": "fc.weight"}, "b{n}": "fc.bias"}')
    given = ("convert", weights, "--model", model, "--mapping", str(names), "--out", str(out))
    assert strict(capture_output(capsys, *given, "--json"))["parameters"] == ["w1", "b1"]
    found = parameters(out)
    assert found["param/w1"] == [[0, 3, 6], [1, 4, 7], [2, 5, 8], [3, 6, 9]]
    half = tmp_path / "half.safetensors"
    assert main(["convert", str(out), "--out", str(half), "--dtype", "float16"]) == 0
    assert {t.code for t in read(half.read_bytes()).tensors.values()} == {"F16"}
    assert parameters(half) == found
    assert main(["show", str(half)]) == 0, "a snapshot is a model"


def test_what_cannot_be_converted(
    model: str, weights: str, tmp_path: Path, capsys: Printed
) -> None:
    out = tmp_path / "ours.safetensors"

    def catch_error(*more: str) -> tuple[int, str]:
        code = main(["convert", weights, "--out", str(out), *more])
        assert not out.exists()
        return code, capsys.readouterr().err

    code, told = catch_error()
    assert code == 2 and "--model MODEL" in told
    code, told = catch_error("--mapping", "n.json")
    assert code == 2 and "--mapping without --model" in told
    code, told = catch_error("--model", model)
    assert code == 1 and told.endswith('FILE holds {"w1": {"transposed": "fc.weight"}}\n')
    code, told = catch_error("--model", model, "--mapping", str(tmp_path / "none.json"))
    assert code == 2 and "NNM715" in told
    (tmp_path / "names.json").write_text("{")
    code, told = catch_error("--model", model, "--mapping", str(tmp_path / "names.json"))
    assert code == 2 and "not a name map" in told
    code, told = catch_error("--model", model, "--partial")
    assert code == 1 and "NNM710" in told


# probe


def test_what_runs_models_here(capsys: Printed) -> None:
    from importlib.metadata import version

    text = capture_output(capsys, "probe")
    assert text.startswith("no browser: models run on ")
    found = strict(capture_output(capsys, "probe", "--json"))
    assert found["webnn"] is False and found["libraries"]["numpy"] == version("numpy")
    assert found["libraries"].keys() == {"numpy", "onnxruntime", "jax"}


# serve


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "deep").mkdir(parents=True)
    for name in ("index.html", "a.mjs", "a.wasm", "a.whl", "a.nnm", "deep/a.json"):
        (folder / name).write_text(name)
    (tmp_path / "secret").write_text("secret")
    return folder


TYPES = {
    "/": "text/html; charset=utf-8",
    "/a.mjs": "text/javascript; charset=utf-8",
    "/a.wasm": "application/wasm",
    "/a.whl": "application/zip",
    "/a.nnm": "text/plain; charset=utf-8",
    "/deep/a.json": "application/json",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
def test_a_folder_is_served_until_ctrl_c(site: Path) -> None:
    with subprocess.Popen(
        command("serve", str(site), "--port", "0", "--json"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that a shell runs in the background ignore the signal, and so would the program.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as program:
        assert program.stdout is not None and program.stderr is not None
        watch = threading.Timer(300, program.kill)
        watch.start()
        told = strict(program.stdout.readline())
        assert told["folder"] == str(site)
        for address, kind in TYPES.items():
            with urlopen(told["url"] + address) as answer:
                assert answer.headers["Content-Type"] == kind
                assert answer.headers["Cache-Control"] == "no-cache"
                assert answer.read().decode() == (address.strip("/") or "index.html")
        for address in ("/none", "/../secret", "/%2e%2e/secret", "/deep/..%2f..%2fsecret"):
            with pytest.raises(HTTPError) as caught:
                urlopen(told["url"] + address)
            assert caught.value.code == 404
            caught.value.close()
        program.send_signal(signal.SIGINT)
        rest = program.stderr.read()
        watch.cancel()
    assert (program.returncode, rest) == (0, "")


def answer(url: str, path: str, host: str | None = "localhost") -> tuple[int, str]:
    """Ask a server for a path as it is written, in the name of a host."""
    connection = HTTPConnection(url.partition("://")[2], timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    found = connection.getresponse()
    text = found.read().decode()
    connection.close()
    return found.status, text


def test_a_page_elsewhere_reads_nothing(site: Path) -> None:
    """Its name leads to this machine by then, which the header `Host` gives away."""
    (site / "deep" / "index.txt").write_text("mine")
    with cli.serve.SiteServer(site) as server:
        port = server.url.rpartition(":")[2]
        for host in ("localhost", "LOCALHOST", "127.0.0.1", "[::1]"):
            assert answer(server.url, "/a.nnm", host) == (200, "a.nnm")
            assert answer(server.url, "/a.nnm", f"{host}:{port}") == (200, "a.nnm")
        strange = ("evil.example", "localhost.evil.example", "192.168.0.1", "", None, "[", "a@b:c")
        for path in ("/a.nnm", "/", "/deep/", "/none"):
            for host in strange:
                code, text = answer(server.url, path, host)
                assert code == 421 and "webnnm serve --host NAME" in text and "mine" not in text
    with cli.serve.SiteServer(site, host="127.0.0.1") as server:
        assert answer(server.url, "/a.nnm")[0] == 200


def test_a_server_that_ends_answers_no_connection_that_is_kept_open(site: Path) -> None:
    with cli.serve.SiteServer(site) as server:
        connection = HTTPConnection(urlsplit(server.url).netloc)
        connection.request("GET", "/a.nnm")
        assert connection.getresponse().read() == b"a.nnm"
    with pytest.raises((ConnectionError, HTTPException)):
        connection.request("GET", "/a.nnm")
        connection.getresponse()
    connection.close()


def test_a_server_for_others_has_the_names_that_it_is_given(site: Path) -> None:
    with cli.serve.SiteServer(site, host="0.0.0.0") as server:
        for host in ("192.168.0.1", "[fe80::1]:80", "localhost", socket.gethostname()):
            assert answer(server.url, "/a.nnm", host)[0] == 200, host
        assert answer(server.url, "/a.nnm", "evil.example")[0] == 421


def test_what_is_hidden_or_elsewhere_is_not_served(site: Path) -> None:
    (site / ".env").write_text("secret")
    (site / ".git").mkdir()
    (site / ".git" / "config").write_text("secret")
    # What Windows takes for another folder, another disk, a stream of a file.
    (site / "..\\secret").write_text("secret")
    (site / "deep" / "c:x").write_text("secret")
    (site / "deep" / "<b>.txt").write_text("shown")
    with cli.serve.SiteServer(site) as server:
        code, page = answer(server.url, "/deep/")
        assert code == 200 and 'href="./%3Cb%3E.txt">&lt;b&gt;.txt<' in page
        assert "a.json" in page and "c:x" not in page
        (site / "index.html").unlink()
        code, page = answer(server.url, "/")
        assert code == 200 and "deep/" in page
        assert ".env" not in page and ".git" not in page and "secret" not in page
        hidden = [
            "/.env",
            "/.git/config",
            "/.git/",
            "/%2eenv",
            "/deep/../.env",
            "/deep/%2e%2e/a.nnm",
        ]
        elsewhere = ["/..%5Csecret", "/..%5c..%5csecret", "/deep/c:x", "/C:/secret", "/c%3Ax"]
        for path in (*hidden, *elsewhere, "/a.nnm%00", "/a.nnm%0a", "/a.nnm::$DATA"):
            code, text = answer(server.url, path)
            assert code == 404 and "secret" not in text, path


def test_what_cannot_be_served(site: Path, capsys: Printed) -> None:
    assert main(["serve", str(site / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err
    with cli.serve.SiteServer(site) as server:
        port = server.url.rpartition(":")[2]
        assert main(["serve", str(site), "--port", port]) == 2
    assert "in use" in capsys.readouterr().err


def test_the_module_is_the_program() -> None:
    ended = run("probe", "--json")
    assert ended.returncode == 0 and strict(ended.stdout)["webnn"] is False


# gradcheck.


def test_gradients_that_agree_are_told_and_others_end_with_1(model: str, capsys: Printed) -> None:
    assert capture_output(capsys, "gradcheck", model, "--elements", "2").endswith(
        "gradients agree\n"
    )
    add = ops.registry()["add"]
    right = add.gradient
    object.__setattr__(add, "gradient", lambda b, g, y, *_: [g, g * 2])
    try:
        assert main(["gradcheck", model, "--json"]) == 1
    finally:
        object.__setattr__(add, "gradient", right)
    told = strict(capsys.readouterr().out)
    assert told["ok"] is False
    wrong = {each["place"] for each in told["operators"] if each["verdict"] == "differs"}
    assert "add1 (line 3, column 25) by b" in wrong
    assert not {each for each in wrong if "add" not in each}


def test_lengths_of_sequences_are_given(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "tagger.nnm"
    path.write_text(
        """m:input int32 shape=[] sequence=words; m:output shape=[3];
        m:layers embedding(e, size=5, shape=[2]), gru(w, r, hiddenSize=3, returnSequence=true);"""
    )
    words = ["gradcheck", str(path), "--rows", "2", "--elements", "2"]
    assert main([*words, "--sequence", "words=2"]) == 0
    assert main(words) == 1
    assert "NNM711" in capsys.readouterr().err


def test_show_draws_a_diagram(model: str, capsys: Printed) -> None:
    assert capture_output(capsys, "show", model, "--mermaid").startswith("flowchart TB\n")
    drawn = capture_output(capsys, "show", model, "--svg", "--depth", "0")
    assert drawn.startswith("<svg ")
    assert drawn.count('data-id="') > 2
    assert main(["show", "net.onnx", "--svg"]) != 0


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "[[1, NaN]]", "[[1, 1e999]]"])
def test_json_that_no_rows_look_like_is_refused(text: str) -> None:
    from webnnm.cli.rows import json_rows

    for rows in (text, text.encode()):
        with pytest.raises(DataError, match="NNM713: the rows are not JSON"):
            json_rows(rows)


def test_deeply_nested_options_and_limits_do_not_end_the_program(
    model: str, tmp_path: Path
) -> None:
    from webnnm.cli.common import _value

    assert _value("[" * 200_000) == "[" * 200_000
    limits = tmp_path / "limits.json"
    limits.write_text("[" * 200_000)
    assert main(["show", model, "--after", "finish", "--limits", str(limits)]) == 2
