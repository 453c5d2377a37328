"""Plans WebNN graphs for all that tests run on NumPy, and checks them against its specification."""

from __future__ import annotations

from typing import Any

from tests.unit.compiler.conforming import IMPLEMENTATIONS, plan_conforming
from webnnm.backends.reference import ReferenceBackend


def check_all_plans() -> None:
    """Let the NumPy backend check each graph that it compiles."""
    compile_for_numpy = ReferenceBackend.compile

    async def compile_and_check(self: ReferenceBackend, graph: Any, **options: Any) -> Any:
        executable = await compile_for_numpy(self, graph, **options)
        for name in IMPLEMENTATIONS:
            plan_conforming(graph, name)
        return executable

    ReferenceBackend.compile = compile_and_check
