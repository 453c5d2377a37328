"""Large files that a page fetches: kept in parts, gone on with after a connection that ended."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Page

from tests.browser.harness import PyodidePage
from tools.common import DISTRIBUTION

# It has no compressed copy, as large weights have none.
FILE = "pyodide-for-tests/pyodide.asm.wasm"
PROGRAM = f"""
import hashlib
from pyodide.code import run_js
from webnnm import DataError, forget_downloads
from webnnm.data.files.downloads import Downloads

# Counts requests and the bytes that come; a connection ends where `most` bytes have come.
run_js('''
  const real = globalThis.fetch;
  globalThis.watched = {{ ranges: [], came: 0, most: Infinity, real }};
  globalThis.fetch = async (url, options) => {{
    const answer = await real(url, options);
    if (!String(url).includes("{FILE}")) return answer;
    watched.ranges.push(options?.headers?.Range ?? "");
    const body = answer.body.pipeThrough(new TransformStream({{
      transform(part, controller) {{
        if (watched.came + part.length > watched.most) {{
          controller.error(new TypeError("network error"));
        }} else {{
          watched.came += part.length;
          controller.enqueue(part);
        }}
      }},
    }}));
    return new Response(body, answer);
  }};
''')
import js
watched = js.watched
told = []
address = "/{FILE}"
name = address.rpartition("/")[2]

def downloads(**settings):
    return Downloads(progress=lambda *news: told.append(news), **settings)

async def refused(**settings):
    try:
        await downloads(**settings).bytes(address)
    except DataError as error:
        return str(error)

def requests():
    found = watched.ranges.to_py(), watched.came
    watched.ranges, watched.came, watched.most = run_js("[]"), 0, run_js("Infinity")
    return found

await forget_downloads()
watched.most = 6_000_000
ended = await refused(keep=True)
first = requests()
data = await downloads(keep=True).bytes(address)
second = requests()
hash = hashlib.sha256(data).hexdigest()
again = hashlib.sha256(await downloads(keep=True, hashes={{name: hash}}).bytes(address)).hexdigest()
third = requests()
wrong = await refused(keep=True, hashes={{name: "0" * 64}})
anew = len(await downloads(keep=False).bytes(address))
fourth = requests()
try:
    await Downloads().bytes("/missing.bin")
except DataError as error:
    absent = str(error)
await forget_downloads()
# A host that sends to its store, and what pages learn of that afterwards.
run_js('''
  globalThis.fetch = async (url, options) => {{
    const sent = {{ store: "https://store/w.bin", away: "http://192.168.0.1/w.bin" }};
    const answer = new Response(`${{options.redirect ?? "follow"}}`);
    return Object.defineProperty(answer, "url", {{ value: sent[url.split("/").pop()] ?? url }});
  }};
''')
guarded = []
for source in ("https://host/store", "https://host/away", "http://host/store"):
    for guard in (True, False):
        try:
            guarded.append(bytes(await Downloads().bytes(source, guarded=guard)).decode())
        except DataError as error:
            guarded.append(error.message)
run_js("globalThis.fetch = watched.real")
last = told[-1]
[ended, first, second, [hash, again], third, wrong, [anew, fourth], absent, list(last), guarded]
"""

SMALL = "pyodide-for-tests/pyodide-lock.json"
PREFETCHED = f"""
import hashlib
from webnnm.core.errors import DataError
from webnnm.data.files.downloads import Downloads
from webnnm.data.files.source_bytes import read_bytes

async def digest(loading):
    return hashlib.sha256(await loading).hexdigest()

try:
    absent = await read_bytes("/missing.bin")
except DataError as error:
    absent = str(error)
[
    [await digest(Downloads().bytes("/{FILE}")), await digest(read_bytes("/{SMALL}"))],
    await digest(read_bytes("/{SMALL}")),
    absent,
]
"""
START = """
async ([program, files]) => {
  const { startPython } = await import("/vendor/webnnm/page/python.js");
  const python = await startPython({ files });
  return (await python.runPythonAsync(program)).toJs();
}
"""


async def test_files_are_fetched_while_python_starts(page: Page, site_url: str) -> None:
    """Once for whoever loads them first; what cannot be fetched is asked for again."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    await page.goto(f"{site_url}/tests/empty.html")
    files = [f"/{FILE}", f"/{SMALL}", "/missing.bin"]
    digests, again, absent = await page.evaluate(START, [PREFETCHED, files])
    first = [asked.index(file) for file in files]
    assert max(first) < asked.index("/vendor/pyodide/pyodide.asm.wasm")
    contents = [(DISTRIBUTION / Path(file).name).read_bytes() for file in (FILE, SMALL)]
    assert digests == [hashlib.sha256(content).hexdigest() for content in contents]
    assert again == digests[1]
    assert "the server answered 404" in absent
    assert [asked.count(file) for file in files] == [1, 2, 2]


async def test_a_download_goes_on_is_kept_and_is_checked(pyodide_page: PyodidePage) -> None:
    content = (DISTRIBUTION / Path(FILE).name).read_bytes()
    size, digest = len(content), hashlib.sha256(content).hexdigest()
    found = await pyodide_page.run_python(PROGRAM)
    ended, first, second, hashes, third, wrong, (anew, fourth), absent, last, guarded = found
    assert "NNM715" in ended
    assert "network error" in ended
    assert "the part that arrived is kept" in ended
    came = first[1]
    assert first[0] == [""]
    assert 0 < came <= 6_000_000
    assert second == [[f"bytes={came}-"], size - came]
    assert hashes == [digest] * 2
    assert third == [[], 0]
    assert "NNM801" in wrong
    assert f"SHA-256 {digest}, not 0000" in wrong
    # What has the wrong hash is not kept, and nothing is without `keep`.
    assert (anew, fourth) == (size, [[""], size])
    assert "missing.bin: the server answered 404" in absent
    assert last[1:] == [size, size]
    away = '"https://host/away" cannot be fetched: https://host/away: the server redirects to'
    assert guarded.pop(2) == f"{away} http://192.168.0.1/w.bin"
    assert guarded == ["follow", "follow", "follow", "error", "follow"]
