"""A language model, compared with llama.cpp in the same browser and PyTorch: tokens per second."""

from __future__ import annotations

import json
import statistics
import subprocess
from typing import Any

from bench.contest import MODELS, Contest
from tools.common import ROOT, say
from tools.environment import python_of
from tools.models import file_in_cache

CONTESTANTS = ("ours", "wllama")
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
COUNT = 48
"""The number of generated tokens."""
FACTS = (
    "Water boils at a lower temperature on a mountain, since the air above it weighs less. "
    "A cup of tea that is made there tastes flat, and beans take twice as long until they are "
    "soft. Cooks help themselves with a pot whose lid is screwed on: the steam cannot leave, the "
    "pressure rises, and with it the temperature of the water. The same is done in hospitals, "
    "where instruments have to become hotter than boiling water can make them. Engineers use it "
    "the other way round, and boil sea water at forty degrees in vessels that are nearly empty. "
)
"""The end of all prompts; each begins with different words, so that no cache has it."""


def write_model() -> None:
    """Put the model file where pages of the contest find it."""
    MODELS.mkdir(parents=True, exist_ok=True)
    path = MODELS / FILE
    if not path.exists():
        path.unlink(missing_ok=True)
        # The server follows no link that leaves its folder.
        path.hardlink_to(file_in_cache(FILE))


async def measure(contest: Contest, rounds: int) -> dict[str, Any]:
    """Return the median tokens per second of all contestants, for prompts and for what follows."""
    speeds: dict[str, dict[str, list[float]]] = {}
    equal = prompt_tokens = 0
    for number in range(rounds):
        prompt = f"Lesson {number + 1} of {rounds}. {FACTS}"
        texts: list[str] = []
        for name in CONTESTANTS[:: -1 if number % 2 else 1]:
            async with contest.another_page():
                await contest.run("startLanguage", name, f"/bench-models/{FILE}")
                # The first tokens come before all graphs of these lengths are compiled.
                for order in ("Before", "Long before"):
                    await contest.run("writeOn", f"{order} the lesson. {FACTS}", COUNT)
                written = await contest.run("writeOn", prompt, COUNT)
            speed = speeds.setdefault(name, {"prompt": [], "decode": []})
            speed["prompt"].append(written["promptTokens"] / written["promptSeconds"])
            speed["decode"].append(written["tokens"] / written["seconds"])
            texts.append(written["text"])
            prompt_tokens = written["promptTokens"]
            summary = f"{speed['decode'][-1]:.1f}, prompt {speed['prompt'][-1]:.0f}"
            say(f"  {name}, round {number + 1}: {summary} tokens per second")
        equal += texts[0] == texts[1]
    speeds["torch"] = _torch(prompt_tokens, rounds)
    medians = {
        name: {kind: statistics.median(values) for kind, values in speed.items()}
        for name, speed in speeds.items()
    }
    return {**medians, "prompt_tokens": prompt_tokens, "equal": equal, "rounds": speeds}


def _torch(prompt: int, rounds: int) -> dict[str, list[float]]:
    """Return the tokens per second of PyTorch, with random weights of the same shapes."""
    numbers = map(str, (prompt, COUNT, rounds))
    command = [python_of("parity"), "-m", "bench.language_torch", *numbers]
    process = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    runs = json.loads(process.stdout.splitlines()[-1])
    summary = ", ".join(f"{run['decode']:.1f} (prompt {run['prompt']:.0f})" for run in runs)
    say(f"  PyTorch: {summary} tokens per second")
    return {kind: [run[kind] for run in runs] for kind in ("prompt", "decode")}
