"""The cost of Python in the page for a training, and the speed of Iris there."""

from __future__ import annotations

import statistics
from typing import Any

from bench.contest import DATA, Contest
from bench.workloads import TINY, write
from tools.common import say

EPOCHS = (100, 1000)
"""Epochs of a short and of a long training, of 100 steps each: 10,000 and 100,000 steps."""
IRIS_CLICK = """
() => new Promise((resolve, reject) => {
  const result = document.querySelector("#result");
  const began = performance.now();
  new MutationObserver(() => {
    if ("done" in result.dataset) resolve(performance.now() - began);
  }).observe(result, { attributes: true });
  setTimeout(() => reject(new Error("no result within a minute")), 60_000);
  document.querySelector("#train").click();
})
"""


async def profile(contest: Contest, rounds: int) -> dict[str, Any]:
    """Return Python's microseconds per step, host round trips per step, and tensors made per step.

    Python's time is that of `train` without the time between a call of the bridge and its answer.
    The cost of a step in the long run is the difference of two trainings.
    """
    samples: dict[int, list[dict[str, Any]]] = {epochs: [] for epochs in EPOCHS}
    async with contest.another_page():
        await contest.run("beginCounting")
        await contest.run("take", write(TINY, DATA))
        await contest.run("prepare", "ours")
        await contest.call("ours", "train", 2)
        for _ in range(rounds):
            for epochs in EPOCHS:
                await contest.run("roundTrips")
                trained = await contest.call("ours", "train", epochs)
                crossed = await contest.run("roundTrips")
                python = 1e3 * trained["seconds"] - crossed["away"]
                samples[epochs].append(
                    {
                        "python": python,
                        "round_trips": sum(crossed["calls"].values()),
                        "tensors": crossed["calls"].get("tensor", 0),
                        "calls": crossed["calls"],
                        "ledger": trained["ledger"],
                        "step": trained["step"],
                    }
                )
    short, long = (samples[epochs] for epochs in EPOCHS)
    counts = [epochs * TINY.steps for epochs in EPOCHS]
    more = counts[1] - counts[0]

    # The shortest time is the one that other programs disturbed least.
    python = [min(f["python"] for f in runs) for runs in (short, long)]
    tensors = [statistics.median(f["tensors"] for f in runs) for runs in (short, long)]
    round_trips = statistics.median(f["round_trips"] for f in long)

    ledgers = [run["ledger"] for runs in (short, long) for run in runs]
    result = {
        "steps": counts,
        "python_us": 1e3 * (python[1] - python[0]) / more,
        "python_us_whole": [1e3 * t / n for t, n in zip(python, counts, strict=True)],
        "round_trips_per_step": round_trips / counts[1],
        "tensors_per_step": (tensors[1] - tensors[0]) / more,
        "ledger_flat": all(ledger == ledgers[0] for ledger in ledgers),
        "ledger": ledgers[0],
        "calls": long[-1]["calls"],
        "step": statistics.median(f["step"] for f in long),
    }
    say(f"  Python: {result}")
    return result


async def iris(contest: Contest, rounds: int) -> dict[str, Any]:
    """Return the seconds from a click on Train to the tested model, and those of 5,000 epochs."""
    clicks: list[float] = []
    again: list[float] = []
    defaults: list[float] = []
    long: list[float] = []
    shares: dict[str, Any] = {}
    for _ in range(rounds):
        page = await contest.browser.new_page()
        await page.goto(f"{contest.url}/iris.html")
        await page.locator("html[data-ready]").wait_for(state="attached", timeout=60_000)
        await page.locator("#train:enabled").wait_for(timeout=60_000)
        shares["page_epochs"] = int(await page.locator("#epochs").input_value())
        clicks.append(await page.evaluate(IRIS_CLICK) / 1e3)
        await page.locator("#train:enabled").wait_for(timeout=60_000)
        again.append(await page.evaluate(IRIS_CLICK) / 1e3)
        await page.close()
        async with contest.another_page():
            await contest.run("beginCounting")
            first = await contest.run("ask", "iris_defaults")
            defaults.append(first["seconds"])
            shares |= first
            answer = await contest.run("ask", "iris_long")
            long.append(answer["seconds"])
            shares["long_accuracy"] = answer["accuracy"]
            shares["long_epochs"] = answer["epochs"]
    result = {
        **shares,
        "click": statistics.median(clicks),
        "click_again": statistics.median(again),
        "defaults": statistics.median(defaults),
        "long": statistics.median(long),
    }
    say(f"  Iris: {result}")
    return result
