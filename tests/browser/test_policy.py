"""Pages under a Content-Security-Policy: what the documentation promises, and what errors say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.site_pages import WATCH_POLICY
from tools.common import ROOT, SITE
from webnnm.cli.serve import SiteServer

in_one_browser = pytest.mark.projects("webnn")
GUIDE = ROOT / "docs" / "deploying.md"
EXAMPLE = re.compile(
    r"^`(_headers|\w+\.\w+)`[^\n]*(?:\n[^\n]+)*\n\n(?:<!--[^>]*-->\n)?```\w*\n(.*?)^```$",
    re.M | re.S,
)
STRICT = "script-src 'self' 'wasm-unsafe-eval'"
INLINE = """
() => {
  const script = document.createElement("script");
  script.textContent = "globalThis.run = true";
  const refusal = new Promise((resolve) => {
    addEventListener("securitypolicyviolation", () => { resolve(); }, { once: true });
  });
  document.body.append(script);
  return refusal;
}
"""


@pytest.fixture
def example(tmp_path: Path) -> Iterator[str]:
    """The address of a server with the page that the documentation shows."""
    files = dict(EXAMPLE.findall(GUIDE.read_text()))
    assert {*files} == {
        "_headers", "python.js", "program.py", "page.js", "worker.js", "index.html"
    }  # fmt: skip
    assert STRICT in files["_headers"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with SiteServer(tmp_path, extra_roots={"vendor": SITE / "vendor"}) as server:
        yield server.url


@in_one_browser
async def test_a_plain_page_trains_under_the_strict_policy_and_so_does_its_worker(
    page: Any, example: str, project: Any
) -> None:
    await page.add_init_script(WATCH_POLICY)
    answer = await page.goto(example)
    assert STRICT in answer.headers["content-security-policy"]
    for name in ("#answer", "#beside"):
        found = page.locator(name, has_text="test accuracy")
        await found.wait_for()
        text = await found.text_content()
        assert text.startswith("WebNN (cpu)")
        assert float(text.rpartition(" ")[2]) >= 0.8
    assert await page.evaluate("refused") == []
    await page.evaluate(INLINE)
    assert await page.evaluate("refused") == ["script-src-elem: inline"], "the policy is in force"
    assert await page.evaluate("globalThis.run") is None


UNREGISTERED = {
    "index.html": '<!doctype html><title>Empty</title><script type="module" src="a.js"></script>',
    "a.js": """
import { loadPyodide } from "./vendor/pyodide/pyodide.mjs";
const pyodide = await loadPyodide({ packages: ["webnnm"] });
const program = await (await fetch("./a.py")).text();
document.body.textContent = await pyodide.runPythonAsync(program);
document.body.id = "answer";
""",
    "a.py": """
import json
from webnnm import WebNNMError, backend, probe
from webnnm.snapshots import storage

texts = []
for asked in (backend("webnn"), storage.discard("browser:nothing")):
    try:
        await asked
    except WebNNMError as error:
        texts.append(str(error))
json.dumps([*texts, (await probe()).sentence])
""",
}


FRAMED = {
    **UNREGISTERED,
    "a.py": """
import json
from webnnm import WebNNMError, backend, probe

try:
    text = (await backend("webnn")).description
except WebNNMError as error:
    text = str(error)
json.dumps([text, (await probe(trials=False)).sentence])
""",
}


@in_one_browser
@pytest.mark.parametrize("allow", [None, "webnn"])
async def test_a_page_in_a_frame_of_another_origin_says_what_the_frame_needs(
    page: Any, tmp_path: Path, project: Any, allow: str | None
) -> None:
    for name, text in FRAMED.items():
        (tmp_path / name).write_text(text)
    attribute = f'allow="{allow}"' if allow else ""
    roots = {"vendor": SITE / "vendor"}
    with SiteServer(tmp_path, extra_roots=roots) as server:
        other = server.url.replace("localhost", "127.0.0.1")
        assert other != server.url
        (tmp_path / "outer.html").write_text(
            f'<!doctype html><title>Outer</title><iframe src="{other}" {attribute}></iframe>'
        )
        await page.goto(f"{server.url}/outer.html")
        answer = page.frame_locator("iframe").locator("#answer")
        error, sentence = json.loads(await answer.text_content())
    if allow:
        assert error.startswith("WebNN (cpu")
        assert sentence.startswith("models run on WebNN")
        return
    refusal = 'this page may not use WebNN (an iframe needs allow="webnn")'
    assert error.startswith(f"NNM709: {refusal}: the browser refused: ")
    assert "docs/deploying.md" in error
    assert refusal in sentence


@in_one_browser
@pytest.mark.parametrize(
    ("policy", "lacking"),
    [(STRICT, "'unsafe-eval'"), ("script-src 'self' 'unsafe-eval'", "blob:")],
)
async def test_an_error_says_which_word_of_the_policy_or_which_file_is_missing(
    page: Any, tmp_path: Path, project: Any, policy: str, lacking: str
) -> None:
    for name, text in UNREGISTERED.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "_headers").write_text(f"/*\n  Content-Security-Policy: {policy}\n")
    with SiteServer(tmp_path, extra_roots={"vendor": SITE / "vendor"}) as server:
        await page.goto(server.url)
        answer = page.locator("#answer")
        graph, kept, sentence = json.loads(await answer.text_content())
    assert graph.startswith("NNM709: bridge.js could not be loaded")
    assert kept.startswith('NNM807: removing "nothing" from the browser failed: files.js')
    for folder, name, text in (("webnn", "bridge", graph), ("page", "files", kept)):
        assert f"this needs {lacking} in the script-src" in text
        module = f"./vendor/webnnm/{folder}/{name}.js"
        assert f'registerJsModule("webnnm_{name}", await import("{module}"))' in text
    assert "bridge.js could not be loaded" in sentence
