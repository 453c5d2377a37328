"""The built site as it is served: compressed, with the types that browsers require."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site_pages import open_site_page

pytestmark = pytest.mark.projects("webnn")

FACTS = """async () => {
  const entries = [location, ...performance.getEntriesByType("resource")];
  const facts = entries.map(async ({ href, name }) => {
    const { headers } = await fetch(href ?? name, { method: "HEAD" });
    const sent = ["content-length", "content-type", "content-encoding"];
    const [size, ...others] = sent.map((header) => headers.get(header));
    return [new URL(href ?? name).pathname, [Number(size), ...others]];
  });
  return Object.fromEntries(await Promise.all(facts));
}"""
COMPILE = """async (address) => {
  const module = await WebAssembly.compileStreaming(fetch(address));
  return WebAssembly.Module.exports(module).length;
}"""
AGAIN = """async (address) => {
  const loads = async () => {
    const content = await (await fetch(address, { cache: "no-cache" })).arrayBuffer();
    const entry = performance.getEntriesByName(address).at(-1);
    return [content.byteLength, entry.transferSize < entry.encodedBodySize];
  };
  return [await loads(), await loads()];
}"""
WASM = "vendor/pyodide/pyodide.asm.wasm"


async def test_all_that_can_shrink_is_sent_compressed(page: Any, site_url: str) -> None:
    await open_site_page(page, site_url, "iris.html")
    facts = await page.evaluate(FACTS)
    codings = {
        path: coding
        for path, (size, _, coding) in facts.items()
        if size > 1000 and not path.endswith((".whl", ".woff2", ".zip"))
    }
    assert len(codings) > 20
    assert {*codings.values()} == {"br"}, codings
    types = {path.rpartition("/")[2]: kind for path, (_, kind, _) in facts.items()}
    assert types["pyodide.asm.wasm"] == "application/wasm"
    assert types["pyodide.asm.mjs"] == "text/javascript; charset=utf-8"
    assert types["iris.py"] == "text/x-python; charset=utf-8"
    assert types["iris.html"] == "text/html; charset=utf-8"


async def test_webassembly_is_compiled_while_it_arrives(page: Any, site_url: str) -> None:
    await page.goto(f"{site_url}/{WASM.rpartition('/')[0]}/pyodide-lock.json")
    assert await page.evaluate(COMPILE, f"{site_url}/{WASM}") > 100


async def test_what_has_not_changed_is_not_sent_again(page: Any, site_url: str) -> None:
    await page.goto(f"{site_url}/vendor/pyodide/pyodide-lock.json")
    (size, _), (again, is_short) = await page.evaluate(AGAIN, f"{site_url}/style.css")
    assert size == again
    assert is_short
