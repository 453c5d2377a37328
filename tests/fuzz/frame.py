"""The frame of the fuzzer: what a target is, how its cases are drawn, shrunk and kept."""

from __future__ import annotations

import hashlib
import importlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

FOLDER = Path(__file__).resolve().parent
CASES = FOLDER / "cases"


@dataclass(frozen=True, kw_only=True)
class Target:
    """One thing to fuzz: how cases are drawn, checked, and kept.

    `check` raises for a fault, whatever it is; what it returns, a word such as "passed" or
    "refused NNM405", is counted. A case is kept as the text that `save` makes of it.
    """

    name: str
    cases: SearchStrategy[Any]
    check: Callable[[Any], str | None]
    save: Callable[[Any], str]
    load: Callable[[str], Any]
    suffix: str
    examples: int
    """How many cases `make test` draws."""
    shrink: Callable[[Any, Callable[[Any], bool]], Any] | None = None
    """Makes a case smaller as long as a function tells that it fails; None leaves that to
    Hypothesis, which draws smaller choices."""
    browser: bool = False
    """Whether it needs the site and the bundled browser."""
    folder: str = ""
    """The folder of its kept cases, if it has not its own name: alike targets share theirs."""
    close: Callable[[], None] = lambda: None
    """Ends what checks have opened."""

    def keep(self, case: Any, folder: Path = CASES) -> Path:
        """Write a case to this target's part of a folder, under a name that its text decides."""
        text = self.save(case)
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        path = folder / (self.folder or self.name) / (name + self.suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return path

    def kept(self) -> list[Path]:
        """Return the files of the cases that were kept."""
        return sorted((CASES / (self.folder or self.name)).glob("*" + self.suffix))

    def replay(self, path: Path) -> str | None:
        """Check a case that was kept."""
        return self.check(self.load(path.read_bytes().decode("utf-8", "surrogatepass")))


@dataclass
class Outcome:
    """What a search came upon: words counted, and the shrunk case of a fault."""

    counts: Counter[str] = field(default_factory=Counter[str])
    case: Any = None
    error: BaseException | None = None


@cache
def targets() -> Mapping[str, Target]:
    """Return the `TARGET` or the `TARGETS` of every module in this folder, by name."""
    found: dict[str, Target] = {}
    for path in sorted(FOLDER.glob("*.py")):
        if not path.stem.startswith("test_"):
            module = importlib.import_module(f"tests.fuzz.{path.stem}")
            single = getattr(module, "TARGET", None)
            several = getattr(module, "TARGETS", (single,))
            found |= {each.name: each for each in several if isinstance(each, Target)}
    return found


def search(
    target: Target,
    examples: int,
    seed: int | None = None,
    until: float = float("inf"),
) -> Outcome:
    """Draw and check cases up to a number, or a time of `time.monotonic`; stop at the first fault.

    A fault is shrunk. Without a seed the same cases are drawn every time.
    """
    outcome = Outcome()
    case: Any = None

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=seed is None,
        phases=[Phase.generate, *([] if target.shrink else [Phase.shrink])],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(target.cases)
    def run(drawn: Any) -> None:
        nonlocal case
        if time.monotonic() > until and outcome.error is None:
            return
        case = drawn
        try:
            word = target.check(drawn)
        except Exception as error:
            outcome.error = error
            raise
        if outcome.error is None:
            outcome.counts[word or "passed"] += 1

    try:
        (run if seed is None else hypothesis.seed(seed)(run))()
    except Exception as error:
        # The last case that Hypothesis runs is the smallest.
        outcome.case, outcome.error = case, error
        if target.shrink is not None:
            outcome.case = target.shrink(case, lambda smaller: _fails(target, smaller))
        outcome.counts["faults"] += 1
    return outcome


def _fails(target: Target, case: Any) -> bool:
    try:
        target.check(case)
    except Exception:
        return True
    return False


def survey(
    target: Target, examples: int, seed: int, until: float = float("inf")
) -> Iterator[Outcome]:
    """Draw and check cases, each an outcome; faults are neither shrunk nor an end."""
    while examples > 0 and time.monotonic() < until:
        for case in _draw(target, min(examples, 200), seed):
            outcome = Outcome(case=case)
            try:
                outcome.counts[target.check(case) or "passed"] += 1
            except Exception as error:
                outcome.error = error
                outcome.counts["faults"] += 1
            yield outcome
        examples -= 200
        seed += 1


def _draw(target: Target, count: int, seed: int) -> list[Any]:
    found: list[Any] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.cases)
    def collect(case: Any) -> None:
        found.append(case)

    collect()
    return found
