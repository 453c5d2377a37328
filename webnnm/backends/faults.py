"""Which of the known faults an implementation of WebNN has: they are tested and remembered."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from webnnm.backends.pyodide_host import Bridge
from webnnm.backends.verdicts import Verdicts
from webnnm.compiler.limits import Limits
from webnnm.compiler.traps import ALL_TRAPS, Trap
from webnnm.compiler.traps.evidence import Probe, Trial, Untried, Values
from webnnm.core.errors import BackendError, ContextLost

CONTROL = Probe(lambda g: g.relu(g.tensor([-1.0, 2.0])), Values([0.0, 2.0]))
"""If it fails, the graph that it shares was not computed, and the other probes say nothing."""


async def find_faults(
    bridge: Bridge, context: int, limits: Mapping[str, Any], device: str, verdicts: Verdicts
) -> frozenset[Trap]:
    """Return the traps to be avoided on an implementation with these limits on this device.

    What was found on an earlier visit with the same browser is not tested again.

    Raises `ContextLost` if the test crashed the implementation; it is not tested a second time.
    """
    examination = _examination(json.dumps(limits))
    words = (device, limits, examination.digest)
    verdict = verdicts.recall(*words)
    if verdict is None or len(verdict) != len(examination.traps):
        verdict = "1" * len(examination.traps)
        try:
            wrong = await examination.wrong(bridge, context)
            verdict = "".join("01"[trap in wrong] for trap in examination.traps)
        except ContextLost:
            verdicts.keep(verdict, *words)
            raise
        verdicts.keep(verdict, *words)
    tried = zip(examination.traps, verdict, strict=True)
    return examination.expected.union(trap for trap, digit in tried if digit == "1")


@lru_cache(1)
def _examination(limits: str) -> Examination:
    """Return the test of an implementation; a page opens many contexts of the same one."""
    return Examination(ALL_TRAPS, json.loads(limits))


class Examination:
    """The graphs that are run to find out which traps an implementation has.

    Attributes: `traps` (those that are tested), `expected` (those that are assumed without a test),
    `shared` (the graph of all probes that can share one), `alone` (one for each trap whose probes
    cannot).
    """

    def __init__(self, traps: Iterable[Trap], limits: Mapping[str, Any]) -> None:
        held = Limits(limits).tensor("input")
        dtypes = None if held is None else frozenset(held.dtypes)
        if dtypes is not None:
            traps = [trap for trap in traps if trap.dtypes & dtypes]
        self.expected: frozenset[Trap] = frozenset()
        self.traps: list[Trap] = []
        self.shared = Trial(CONTROL, dtypes=dtypes)
        self.alone: list[Trial] = []
        self._owners: dict[Probe, Trap] = {}
        for trap in traps:
            if isinstance(trap.evidence, Untried):
                if trap.evidence.where(limits):
                    self.expected |= {trap}
                continue
            alone = Trial(dtypes=dtypes)
            probes = [p for p in trap.evidence if (alone if p.alone else self.shared).add(p)]
            if not probes:
                self.expected |= {trap}
                continue
            self.traps.append(trap)
            self._owners |= dict.fromkeys(probes, trap)
            self.alone += [alone] if alone.probes else []

    @cached_property
    def digest(self) -> str:
        """A hash of all probes and of their correct answers."""
        hasher = hashlib.sha256()
        for trial in (self.shared, *self.alone):
            hasher.update(trial.plan.json.encode() + trial.plan.constants + trial.data)
            hasher.update(trial.answer_data)
        return hasher.hexdigest()

    async def wrong(self, bridge: Bridge, context: int) -> frozenset[Trap]:
        """Run all probes; return the traps with a probe that was refused or gave a wrong answer."""
        shared, *failed = await _side_by_side(bridge, context, [self.shared, *self.alone])
        if CONTROL in shared:
            single_trials = [Trial(probe) for probe in self.shared.probes if probe is not CONTROL]
            failed += await _side_by_side(bridge, context, single_trials)
        else:
            failed.append(shared)
        return frozenset(self._owners[probe] for probes in failed for probe in probes)


async def _side_by_side(
    bridge: Bridge, context: int, trials: Sequence[Trial]
) -> list[Sequence[Probe]]:
    """Return for each trial the probes with a wrong answer, all of them if it was refused."""
    running = (bridge.once(context, trial.plan, trial.data) for trial in trials)
    answers = await asyncio.gather(*running, return_exceptions=True)
    failed: list[Sequence[Probe]] = []
    for trial, answer in zip(trials, answers, strict=True):
        if isinstance(answer, BackendError) and not isinstance(answer, ContextLost):
            failed.append(trial.probes)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            failed.append(trial.find_wrong(answer))
    return failed


def sentences(traps: Iterable[Trap]) -> tuple[str, ...]:
    """Return a sentence for each of some traps, in the order of the table."""
    chosen = frozenset(traps)
    return tuple(f"{_names(trap)}: {trap.reason}" for trap in ALL_TRAPS if trap in chosen)


def _names(trap: Trap) -> str:
    first, *others = sorted(trap.operators)
    return f"{first} and {len(others)} more" if len(others) > 2 else ", ".join((first, *others))
