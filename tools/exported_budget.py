"""Measures how soon an exported Iris answers over a slow network, and what it loads.

    python -m tools.exported_budget

It prints medians of first visits, with WebNN and without, uncompressed as `webnnm serve` sends the
folder, and the bytes of the page's scripts.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.common import ROOT, open_browser, say
from tools.page_budget import LAPTOP, wait_for_value
from webnnm import IrisDataset, NNModel
from webnnm.cli.serve import SiteServer

ROUNDS = 5
LIMIT_SECONDS = 1.0
"""The seconds after which a first visit has its answer, at most."""
SOURCE = ROOT / "site" / "iris.nnm"
FLOWER = [5.1, 3.5, 1.4, 0.2]
# Asks as soon as the element is there; it is injected before the page.
ASK = f"""
customElements.whenDefined("webnnm-model").then(async () => {{
  while (!document.querySelector("webnnm-model")) await new Promise(requestAnimationFrame);
  const answer = await document.querySelector("webnnm-model").predict({json.dumps(FLOWER)});
  const entries = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
  globalThis.answered = {{
    at: performance.now(),
    label: answer.label,
    bytes: entries.reduce((sum, {{ transferSize }}) => sum + transferSize, 0),
    scripts: entries.filter(({{ name }}) => name.endsWith(".js")).map(({{ name }}) => (
      new URL(name).pathname)),
  }};
}});
"""
COMPRESS = "const { brotliCompressSync: pack } = require('zlib');" + (
    "process.stdout.write(String(pack(require('fs').readFileSync(0)).length))"
)


async def visit(browser: Any, url: str) -> dict[str, Any]:
    """Open the page for the first time, and return when it has answered, and what it has loaded."""
    context = await browser.new_context(service_workers="block")
    page = await context.new_page()
    await LAPTOP.emulate(await context.new_cdp_session(page))
    await page.add_init_script(ASK)
    await page.goto(url, wait_until="commit")
    answered = await wait_for_value(page, "globalThis.answered")
    await context.close()
    return answered


def count_compressed(path: Path) -> int:
    """Return the bytes of a file that brotli has packed."""
    command = ["node", "-e", COMPRESS]
    return int(subprocess.run(command, input=path.read_bytes(), capture_output=True).stdout)


async def measure(folder: Path) -> None:
    """Print the medians of visits to a page in a folder."""
    for project in ("webnn", "no-webnn"):
        async with open_browser(project) as browser:
            with SiteServer(folder) as server:
                visits = [await visit(browser, server.url) for _ in range(ROUNDS)]
        seconds = statistics.median(one["at"] for one in visits) / 1000
        scripts = [folder / path.lstrip("/") for path in visits[0]["scripts"]]
        raw = sum(path.stat().st_size for path in scripts)
        packed = sum(map(count_compressed, scripts))
        say(
            f"{project}: {visits[0]['label']} after {seconds:.2f} s (at most {LIMIT_SECONDS}), "
            f"{visits[0]['bytes'] / 1000:.1f} kB loaded; {len(scripts)} scripts of "
            f"{raw / 1000:.1f} kB, {packed / 1000:.1f} kB by brotli"
        )
        if seconds > LIMIT_SECONDS:
            raise SystemExit(1)


async def main() -> None:
    """Export a trained Iris, and measure its page."""
    dataset = await IrisDataset.create()
    source = SOURCE.read_text(encoding="utf-8")
    async with await NNModel.create(source=source, dataset=dataset, log=str) as model:
        await model.train(epochs=50, progress="off")
        with TemporaryDirectory() as folder:
            page = Path(folder, "page")
            await model.export(page, format="page")
            await measure(page)


if __name__ == "__main__":
    asyncio.run(main())
