"""Measures where the seconds go between the navigation to a page and its first training step.

    python -m tools.start_profile [NAME]

It starts Python as pages do, stage after stage, and writes the table into docs/performance.md and
the picture beside it, which shows the profile as the one called NAME ("now" without it) among those
in tools/start_profiles.json. Times are medians.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import sys

from tools.common import ROOT, SITE, open_browser, open_empty_page, say
from tools.start_picture import draw
from webnnm.cli.serve import SiteServer

ROUNDS = 5
PAGE = ROOT / "docs" / "performance.md"
PROFILES = ROOT / "tools" / "start_profiles.json"
PICTURE = ROOT / "docs" / "first_seconds.svg"
TABLE = re.compile(r"(<!-- profile: begin -->\n).*?(<!-- profile: end -->)", re.S)
STAGES = {
    "document": "navigation, document, `pyodide.mjs`",
    "fetch": "WebAssembly fetched and compiled, the standard library fetched meanwhile",
    "python": "start of Python",
    "wheels": "fetch and unpacking of both wheels, `bridge.js`",
    "import": "`import webnnm`",
    "names": "the modules of `NNModel` and the dataset",
    "data": "the dataset",
    "create": "`NNModel.create`, with its review",
    "review": "`train`: review",
    "scouting": "`train`: trial of initial parameters",
    "build": "`train`: step compiled",
    "rest": "`train`: everything else, with the first step",
}
DATASETS = {
    "Iris": """
from webnnm import IrisDataset
mark("names")
dataset = await IrisDataset.create(standardize=True)
source = '''model:input shape=[4]; model:output shape=[3];
model:layers dense(shape=[8], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();'''
""",
    "6,400 × 784": """
import os
from webnnm import Dataset
from webnnm.core.arrays import HostArray
mark("names")
# Numbers from 0 to 1 and ten classes, as a page has them once they are fetched.
from array import array
rows = HostArray("float32", (6400, 784), array("f", [b / 255 for b in os.urandom(6400 * 784)]))
ones = array("f", [k == number % 10 for number in range(6400) for k in range(10)])
classes = HostArray("float32", (6400, 10), ones)
mark("forget")
dataset = Dataset(rows, classes)
source = '''model:loss categoricalCrossEntropy; model:input shape=[784]; model:output shape=[10];
model:layers dense(shape=[256], activation=relu), dense(shape=[128], activation=relu),
  dense(shape=[10], activation=softmax);
dense:layers matmul(w), add(b), activation();'''
""",
}
PROGRAM = """
from time import perf_counter
times, last = {}, perf_counter()
def mark(name):
    global last
    now = perf_counter()
    times[name], last = 1000 * (now - last), now
import webnnm
mark("import")
from webnnm import NNModel
NNModel
%s
mark("data")
model = await NNModel.create(source=source, dataset=dataset, backend="webnn", log=lambda _: None)
mark("create")
history = await model.train(batch_size=64, epochs=1, progress="off", on_batch=lambda _: False)
mark("rest")
for name in ("review", "scouting", "build"):
    times[name] = 1000 * history.phases.get(name, 0)
    times["rest"] -= times[name]
times
"""
# Pyodide's WebAssembly is the one that is compiled as it arrives.
VISIT = """
async ([index, program]) => {
  const times = {};
  let last = 0;
  const mark = (name) => {
    const now = performance.now();
    times[name] = now - last;
    last = now;
  };
  const { loadPyodide } = await import(`${index}/pyodide.mjs`);
  mark("document");
  const plain = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (...options) => {
    const compiled = await plain.apply(WebAssembly, options);
    mark("fetch");
    return compiled;
  };
  const pyodide = await loadPyodide({ indexURL: index });
  mark("python");
  await pyodide.loadPackage(["webnnm", "webnnm-rest"], { messageCallback() {} });
  pyodide.registerJsModule("webnnm_bridge", await import(`${index}/../webnnm/webnn/bridge.js`));
  mark("wheels");
  const timesInPython = await pyodide.runPythonAsync(program);
  return { ...times, ...timesInPython.toJs() };
}
"""


async def visit(url: str, dataset: str) -> dict[str, float]:
    """Return the milliseconds of each stage in a new browser."""
    async with open_browser() as browser:
        page = await open_empty_page(browser, url)
        program = PROGRAM % DATASETS[dataset]
        times = await page.evaluate(VISIT, [f"{url}/vendor/pyodide", program])
    return {name: times.get(name, 0) for name in STAGES}


async def measure(url: str) -> dict[str, dict[str, float]]:
    """Return the median milliseconds of each stage by dataset, which take turns."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in DATASETS}
    for _ in range(ROUNDS):
        for name, visits in rounds.items():
            visits.append(await visit(url, name))
    return {
        name: {stage: statistics.median(times[stage] for times in visits) for stage in STAGES}
        for name, visits in rounds.items()
    }


def table(times: dict[str, dict[str, float]]) -> str:
    """Return the medians as a table of Markdown."""
    head = f"| ms | {' | '.join(times)} |\n| --- |{' --: |' * len(times)}\n"
    rows = [
        f"| {title} | {' | '.join(f'{times[name][stage]:,.0f}' for name in times)} |\n"
        for stage, title in STAGES.items()
    ]
    totals = " | ".join(f"{sum(stages.values()):,.0f}" for stages in times.values())
    return head + "".join(rows) + f"| all | {totals} |\n"


def main() -> None:
    """Measure, print and write the table and the picture."""
    with SiteServer(SITE) as server:
        times = asyncio.run(measure(server.url))
    load = f"Medians of {ROUNDS} visits; the load average was {os.getloadavg()[0]:.1f}."
    written = f"{table(times)}\n{load}\n"
    say(written)
    PAGE.write_text(TABLE.sub(rf"\g<1>\n{written}\n\g<2>", PAGE.read_text()))
    name = sys.argv[1] if len(sys.argv) > 1 else "now"
    profiles = json.loads(PROFILES.read_text()) | {name: times}
    PROFILES.write_text(json.dumps(profiles, indent=1, ensure_ascii=False) + "\n")
    PICTURE.write_text(f"{draw(profiles)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
