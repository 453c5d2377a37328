"""Plans of a graph for implementations that are not known yet, and the tests that choose one.

A plan depends on the faults that an implementation shows. Those that change the plan of this graph
are tested in the page, by the probes that Python runs too; all others are avoided without a test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from webnnm.backends.faults import CONTROL
from webnnm.compiler.embedding import embed_constants
from webnnm.compiler.pipeline import CompiledPlan, Target, compile_plan
from webnnm.compiler.plan import ALIGNMENT, Plan
from webnnm.compiler.traps import ALL_TRAPS, Trap
from webnnm.compiler.traps.evidence import TOLERANCE, Trial, Untried
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError
from webnnm.formats.page.folders import digest
from webnnm.formats.page.portable_limits import LIMITS
from webnnm.formats.page.scripts import find_script_operators
from webnnm.graph.node import Graph

LAYOUTS = ("nchw", "nhwc")
"""The layouts of images that implementations prefer."""
MAX_COMBINED = 4
"""Up to so many tested faults, there is a plan for each set of them; else for none, one and all."""
MAX_OPERATORS = 1000
"""Of a graph with more operators there is one plan only, which avoids all faults untested."""
MAX_RANK = 5
TENSORS = ("input", "constant", "output")
TYPES = ("float32", "float16", "int32", "uint8", "int8")
"""Types of the tensors of exported plans, and thus of the probes."""
SCRIPT_TYPES = tuple(dtype for dtype in TYPES if dtype != "float16")
"""Those that every version of JavaScript has."""


class Weights:
    """The bytes of all constants, each content once."""

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}
        self._size = 0

    def add(self, content: bytes | memoryview[int]) -> int:
        """Return the offset at which the content is."""
        key = bytes(content)
        if key not in self._offsets:
            self._offsets[key] = self._size
            self._size += len(key) + -len(key) % ALIGNMENT
        return self._offsets[key]

    def join(self) -> bytes:
        """Return all contents at their offsets."""
        return b"".join(content + bytes(-len(content) % ALIGNMENT) for content in self._offsets)


class PlanSet:
    """The different plans of a graph, by number, with their constants among the weights."""

    def __init__(self, graph: Graph, values: Mapping[str, HostArray], weights: Weights) -> None:
        self._graph = graph
        self._values = values
        self._weights = weights
        self._numbers: dict[str, int] = {}
        self.plans: list[dict[str, Any]] = []

    def describe_device_plans(self) -> dict[str, Any]:
        """Return the tests of faults, and the plan for each set of them in each layout."""
        everything = {layout: self._compile(layout, ALL_TRAPS) for layout in LAYOUTS}
        nchw, nhwc = (everything[layout].plan for layout in LAYOUTS)
        sources = {"nchw": "nchw", "nhwc": "nhwc" if '"nhwc"' in nhwc.json else "nchw"}
        is_long = len(nchw.content["operators"]) > MAX_OPERATORS
        tested = [] if is_long else self._find_tested(everything)
        shared = Trial(CONTROL, dtypes=frozenset(TYPES))
        trials: list[tuple[list[int], Trial]] = [([-1], shared)]
        for number, trap in enumerate(tested):
            assert not isinstance(trap.evidence, Untried)
            alone = Trial(dtypes=frozenset(TYPES))
            for probe in trap.evidence:
                if not probe.alone and shared.add(probe):
                    trials[0][0].append(number)
                elif probe.alone:
                    alone.add(probe)
            if alone.probes:
                trials.append(([number] * len(alone.probes), alone))
        used = [trial for trial in trials if tested]
        return {
            "faults": [trap.reason for trap in tested],
            "probes": _digest([trial for _, trial in used]),
            "trials": [self._describe_trial(*trial) for trial in used],
            "choices": [
                {
                    "avoids": sorted(avoided),
                    **{
                        layout: self._plan_without(source, tested, avoided)
                        for layout, source in sources.items()
                    },
                }
                for avoided in _choose_sets(len(tested))
            ],
        }

    def find_script_plan(self) -> int | None:
        """Return the plan for the operators of plain JavaScript, None if they do not suffice."""
        limits = expand_limits(SCRIPT_TYPES)
        operators = {*find_script_operators(), *TENSORS}
        target = Target({k: v for k, v in limits.items() if k in operators}, (), self._values)
        try:
            return self._add(compile_plan(self._graph, target))
        except BackendError:
            return None

    def _plan_without(self, layout: str, tested: Sequence[Trap], avoided: Collection[int]) -> int:
        """Return the plan that avoids some of the tested faults, and all that are not tested."""
        spared = {trap for number, trap in enumerate(tested) if number not in avoided}
        traps = [trap for trap in ALL_TRAPS if trap not in spared]
        return self._add(self._compile(layout, traps))

    def _compile(self, layout: str, traps: Collection[Trap]) -> CompiledPlan:
        limits = {**expand_limits(), "preferredInputLayout": layout}
        return compile_plan(self._graph, Target(limits, traps, self._values))

    def _find_tested(self, everything: Mapping[str, CompiledPlan]) -> list[Trap]:
        """Return the faults that probes can show, and that make a difference to the plan."""
        tested: list[Trap] = []
        for trap in ALL_TRAPS:
            if isinstance(trap.evidence, Untried):
                continue
            if not any(Trial(dtypes=frozenset(TYPES)).add(probe) for probe in trap.evidence):
                continue
            others = [other for other in ALL_TRAPS if other is not trap]
            for layout, compiled in everything.items():
                if not any(trap.reason in text for text in compiled.rewrites):
                    continue
                if self._compile(layout, others).plan.hash != compiled.plan.hash:
                    tested.append(trap)
                    break
        return tested

    def _add(self, compiled: CompiledPlan) -> int:
        """Return the number of a plan, which is new if no other is the same."""
        plan = embed_constants(compiled.plan, self._values)
        left = [name for name in plan.inputs if name in self._values]
        if left:
            raise DataError(
                "NNM905",
                f'parameter "{left[0]}" is too large for a page: a constant of WebNN has at most '
                "128 MB",
                hint="export a smaller model, or serve the snapshot as <webnnm-model>",
            )
        content = self._locate_constants(plan)
        key = repr(content)
        if key not in self._numbers:
            self._numbers[key] = len(self.plans)
            self.plans.append(content)
        return self._numbers[key]

    def _locate_constants(self, plan: Plan) -> dict[str, Any]:
        """Return the plan with its constants among the weights."""
        constants: list[dict[str, Any]] = []
        for constant in plan.content["constants"]:
            constant = dict(constant)
            if "beside" in constant:
                index: int = constant.pop("beside")
                data = plan.beside[index]
            else:
                data = memoryview(plan.constants)[constant["offset"] :][: constant["length"]]
            constants.append({**constant, "offset": self._weights.add(data.cast("B"))})
        return {**plan.content, "constants": constants}

    def _describe_trial(self, faults: Sequence[int], trial: Trial) -> dict[str, Any]:
        """Return a graph of probes, with its inputs and, for each probe, what it should answer.

        A fault of -1 is the control: without its answer the others say nothing.
        """
        answers = [
            {
                "fault": fault,
                "outputs": [[a.dtype, a.data.nbytes, TOLERANCE.get(a.dtype, 0)] for a in expected],
            }
            for fault, expected in zip(faults, trial.answers, strict=True)
        ]
        return {
            "plan": self._locate_constants(trial.plan),
            "data": [self._weights.add(trial.data), len(trial.data)],
            "expected": [self._weights.add(trial.answer_data), len(trial.answer_data)],
            "answers": answers,
        }


def _digest(trials: Sequence[Trial]) -> str:
    """Return a short text that is the same for the same probes with the same answers."""
    parts = (part for one in trials for part in (one.plan.hash.encode(), one.data, one.answer_data))
    return digest(b"".join(parts))


def _choose_sets(count: int) -> Iterator[frozenset[int]]:
    """Yield sets of tested faults by their size: all if there are few, else none, one and all."""
    sizes = range(count + 1) if count <= MAX_COMBINED else (0, 1, count)
    for size in sizes:
        yield from map(frozenset, combinations(range(count), size))


def expand_limits(types: Sequence[str] = TYPES) -> dict[str, Any]:
    """Return the limits of every known implementation in the form of `opSupportLimits()`."""
    limits = dict[str, Any].fromkeys(TENSORS, _describe_bounds(types))
    for bounds, names in LIMITS.items():
        *known, low, high = bounds.split()
        dtypes = [dtype for dtype in known if dtype in types]
        for name in names.split():
            operator, slot = name.split(".")
            entry = _describe_bounds(dtypes, int(low), int(high))
            limits.setdefault(operator, {})[slot] = entry
    return limits


def _describe_bounds(dtypes: Sequence[str], low: int = 0, high: int = MAX_RANK) -> dict[str, Any]:
    ranks = {"max": high}
    if low:
        ranks["min"] = low
    return {"dataTypes": [*dtypes], "rankRange": ranks}
