"""What shows a fault of WebNN, run through the package, which rewrites it; it imports no pytest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.unit.backends.plans import graph_of
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.compiler.traps.evidence import Trial, Untried
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import count
from webnnm.graph.node import Graph


@dataclass(frozen=True)
class ProbeJob:
    """A probe of a trap, both by their numbers."""

    trap: int
    probe: int

    @property
    def trial(self) -> Trial:
        """The probe with its answers."""
        evidence = ALL_TRAPS[self.trap].evidence
        assert not isinstance(evidence, Untried)
        return Trial(evidence[self.probe])

    def graph(self) -> tuple[Graph, Mapping[str, HostArray]]:
        """Build the graph; return it with the values of its inputs."""
        plan, data = self.trial.plan, memoryview(self.trial.data)
        feeds: dict[str, HostArray] = {}
        for name, type in plan.inputs.items():
            size = byte_length(type.dtype, count(type.shape))
            feeds[name], data = HostArray(*type, data[:size]), data[size:]
        return graph_of(plan), feeds


JOBS = {
    f"{trap.reason} ({probe})": ProbeJob(number, probe)
    for number, trap in enumerate(ALL_TRAPS)
    if not isinstance(trap.evidence, Untried)
    for probe in range(len(trap.evidence))
}
