"""Runs the contest and reports it: `make bench`, or its parts by `ARGS="--only cnn,iris"`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

from bench import (
    arrays,
    costs,
    fallback,
    inference,
    language_models,
    onnx_models,
    plot,
    python_share,
    report,
    start,
    training_steps,
)
from bench.comparison import compare
from bench.contest import FOLDER, Contest, contest
from bench.pipelines import measure as pipelines
from bench.workloads import BLOCK, CNN, LARGE, TINY, WORKLOADS
from tools.common import ROOT, say

ENOUGH_ROUNDS = 5
SECONDS = 1.5
"""The approximate seconds of a contestant in a round."""
INFERENCE = ((TINY, 1), (LARGE, 1), (CNN, 1), (BLOCK, BLOCK.batch))
WITHOUT_WEBNN = ((LARGE, fallback.OURS), (CNN, fallback.OURS[:1]))
PARTS = (
    *(*WORKLOADS, "fallback", "arrays", "inference", "onnx", "language", "build", "scale"),
    *("python", "iris", "start", "pipelines"),
)
MODELS_OF = {
    "onnx": onnx_models.write_models,
    "language": language_models.write_model,
    "start": start.write_files,
    "pipelines": pipelines.write_models,
}
"""The parts with models of the cache, and what puts these where pages find them."""
BY_TORCH = (*WORKLOADS, "inference", "language")
"""The parts in which PyTorch takes part."""
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "performance.svg"
RESULTS = ROOT / "bench" / "results"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def machine() -> dict[str, Any]:
    """Return the facts known about this machine."""
    cpu, memory = platform.processor() or platform.machine(), 0
    if (info := Path("/proc/cpuinfo")).exists():
        names = re.findall(r"model name\s*: (.*)", info.read_text())
        cpu = names[0] if names else cpu
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30),
        "system": platform.system(),
        "load": os.getloadavg()[0],
    }


def describe_setup(results: dict[str, Any]) -> str:
    """Return a paragraph on the machine and the programs."""
    m, f = results["machine"], results["programs"]
    return (
        f"{m['cores']} cores of {m['cpu']}, {m['memory_gib']} GiB, {m['system']}; Chromium "
        f"{f['browser']} with WebNN, Pyodide {f['pyodide']}, TensorFlow.js "
        f"{f['tensorflow']['version']} ({', '.join(f['tensorflow']['found'])}), PyTorch "
        f"{f.get('torch', {}).get('version', 'not used')}. Medians of {results['rounds']} "
        f"alternating rounds; the load average was {m['load']:.1f} before and "
        f"{m['load_after']:.1f} after, with the contest's own work in the latter."
    )


async def run(only: list[str], rounds: int, *, quick: bool) -> dict[str, Any]:
    """Run the parts of the contest and return the results."""
    results: dict[str, Any] = {"machine": machine(), "rounds": rounds, "quick": quick}
    seconds = SECONDS / 4 if quick else SECONDS
    # A model that is missing is told before anything is measured.
    for part in only:
        if part in MODELS_OF:
            await asyncio.to_thread(MODELS_OF[part])
    async with contest(torch=takes_torch(only)) as running:
        for part in only:
            say(f"{part} …")
            await _part(running, part, results, rounds, seconds, quick=quick)
        results["programs"] = running.facts
    results["machine"]["load_after"] = os.getloadavg()[0]
    return results


async def _part(
    found: Contest,
    part: str,
    results: dict[str, Any],
    rounds: int,
    seconds: float,
    *,
    quick: bool,
) -> None:
    if part in WORKLOADS:
        steps = await training_steps.measure(found, WORKLOADS[part], rounds, seconds)
        results.setdefault("training", {})[part] = steps
    elif part == "fallback":
        for workload, backends in WITHOUT_WEBNN:
            times = await fallback.measure(found, workload, backends, rounds, seconds)
            results.setdefault("fallback", {})[workload.name] = times
    elif part == "arrays":
        results["arrays"] = await arrays.measure(found, rounds, seconds)
    elif part == "inference":
        for workload, rows in INFERENCE:
            times = await inference.measure(found, workload, rows, rounds, seconds / 2)
            results.setdefault("inference", {})[workload.name] = times
    elif part == "onnx":
        results["onnx"] = await onnx_models.measure(found, rounds, seconds)
    elif part == "language":
        results["language"] = await language_models.measure(found, rounds)
    elif part == "build":
        results["build"] = await costs.building(found, rounds)
    elif part == "scale":
        results["scale"] = await costs.scale(found, rounds, seconds / 4, quick=quick)
    elif part == "python":
        results["python"] = await python_share.profile(found, rounds)
    elif part == "pipelines":
        results["pipelines"] = await pipelines.measure(found, rounds)
    elif part == "start":
        results["start"] = await start.measure(found, rounds)
    else:
        results["iris"] = await python_share.iris(found, rounds)


def make_report(results: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Return the machine, programs and tables, compared with earlier results if there are any."""
    parts = [describe_setup(results), report.markdown(results)]
    if before is not None:
        parts += ["### Before and after", compare(before, results)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def save(results: dict[str, Any], text_of_page: str, *, merge: bool) -> None:
    """Write the results to the cache; those of a complete contest also to the checkout.

    With `merge`, some parts of this machine's results in the checkout are replaced, and their
    sections in docs/performance.md.
    """
    write_results(FOLDER / "results.json", results)
    say(f"saved {FOLDER / 'results.json'}")
    m = results["machine"]
    slug = re.sub(r"[^a-z0-9]+", "-", f"{m['cores']} cores {m['cpu']}".lower()).strip("-")
    file = RESULTS / f"{slug}.json"
    is_enough = results["rounds"] >= ENOUGH_ROUNDS and not results["quick"]
    if is_enough and merge and file.exists():
        write_results(file, merge_parts(json.loads(file.read_text(encoding="utf-8")), results))
        write_page(merge_sections(read_page(), report.markdown(results)))
    elif is_enough and results["complete"]:
        RESULTS.mkdir(exist_ok=True)
        write_results(file, results)
        PICTURE.write_text(plot.svg(results["scale"]), encoding="utf-8")
        write_page(text_of_page)
    else:
        say("docs/performance.md is unchanged: updating it needs all parts and five rounds")


def merge_parts(before: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return earlier results with the parts that were measured again.

    >>> merge_parts({"rounds": 5, "start": 1, "iris": 2}, {"rounds": 6, "start": 3})
    {'rounds': 5, 'start': 3, 'iris': 2}
    """
    about = ("machine", "rounds", "quick", "programs", "complete")
    return before | {name: part for name, part in results.items() if name not in about}


def merge_sections(before: str, measured: str) -> str:
    """Return a report with the sections of another one, in place of those with the same title.

    >>> print(merge_sections("about\\n\\n### A\\n\\n1\\n\\n### B\\n\\n2", "### A\\n\\n3"), end="")
    about
    <BLANKLINE>
    ### A
    <BLANKLINE>
    3
    <BLANKLINE>
    ### B
    <BLANKLINE>
    2
    """
    first, *sections = before.split("\n### ")
    _, *fresh = f"\n{measured}".split("\n### ")
    by_title = {section.partition("\n")[0]: section.strip("\n") for section in [*sections, *fresh]}
    return "\n\n### ".join([first.strip("\n"), *by_title.values()]) + "\n"


def read_page() -> str:
    """Return the tables between the markers in docs/performance.md."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]


def write_results(file: Path, results: dict[str, Any]) -> None:
    """Write results as JSON."""
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    file.write_text(text, encoding="utf-8")


def write_page(measured: str) -> None:
    """Put the tables between the markers in docs/performance.md."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{measured}\n{END}{after}", encoding="utf-8")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", default="", help=f"some of {', '.join(PARTS)}, with commas")
    parser.add_argument("--rounds", type=int, default=0, help="alternating rounds, 5 by default")
    parser.add_argument("--quick", action="store_true", help="two short rounds, fewer points")
    parser.add_argument("--before", type=Path, help="earlier results.json to compare with")
    parser.add_argument(
        "--merge", action="store_true", help="update these parts in the results of this machine"
    )
    options = parser.parse_args(given)
    options.only = [part for part in options.only.split(",") if part] or list(PARTS)
    if unknown := [part for part in options.only if part not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; parts are {', '.join(PARTS)}")
    options.rounds = options.rounds or (2 if options.quick else ENOUGH_ROUNDS)
    return options


def takes_torch(only: list[str]) -> bool:
    """Return whether PyTorch takes part in one of these parts."""
    return any(part in BY_TORCH for part in only)


async def measure(chosen: argparse.Namespace) -> None:
    """Run what the command line requests, print the tables, save the results."""
    only = chosen.only
    before = json.loads(chosen.before.read_text(encoding="utf-8")) if chosen.before else None
    results = await run(only, chosen.rounds, quick=chosen.quick)
    results["complete"] = set(only) == set(PARTS)
    measured = make_report(results, before)
    say("")
    say(measured)
    save(results, measured, merge=chosen.merge)
