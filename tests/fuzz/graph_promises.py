"""Decompositions in random graphs, held to what they promise, and cut out of what is compared.

Two backends may return different factors of a matrix, all of them right. So graphs that are
compared show what decompositions take and return: the equations between these are checked, and
what is computed from factors is compared with what comes of the very factors of the backend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.float_types import LEAST, MOST, UNIT
from tests.fuzz.graph_case import GraphCase, Leaf, Step, results
from tests.fuzz.matrix_promises import (
    determinant,
    eigenvectors,
    lower_factor,
    singular_values,
    size,
    solution,
    triangular_factors,
)
from webnnm.backends.kernels import array_of
from webnnm.backends.reference import Namespace
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import move_node

Arrays = Mapping[str, Any]

LIMIT = 60
"""How many roundings of float32, for each row, the error of a result may be, as of arrays."""
HALF_LIMIT = 4
"""The same for float16: results of float32 are rounded once."""
RANGE = 2.0**50
"""Of matrices whose size or its reciprocal is larger, sums of squares may leave float32."""


class Promise(NamedTuple):
    """The error of results for a matrix; how regular a matrix has to be; how large results are.

    `regularity` is relative to the size of the matrix, 1 where every matrix has results.
    """

    error: Callable[..., float]
    regularity: Callable[[Any], float] = lambda x: 1.0
    largest: Callable[..., float] = lambda x, *_: float(size(x).item())


def _symmetric(x: Any) -> Any:
    return (x + np.matrix_transpose(x)) / 2


def _least(x: Any) -> float:
    """Return the smallest singular value, relatively to the largest."""
    values = np.linalg.svd(x, compute_uv=False)
    return float(values[-1] / values[0]) if values[0] else 0.0


def _positive(x: Any) -> float:
    """Return the smallest eigenvalue, relatively to the largest."""
    values = np.linalg.eigvalsh(_symmetric(x))
    largest = np.abs(values).max()
    return float(values[0] / largest) if largest else 0.0


def _right(x: Any, *right: Any) -> Any:
    return right[0] if right else np.eye(len(x))


def _solution(x: Any, *others: Any) -> float:
    *right, found = others
    return solution(x, _right(x, *right), found)


def _largest_solution(x: Any, *right: Any) -> float:
    b = _right(x, *right)  # rows of it are added up on the way
    return float(max(np.abs(y).max(initial=0) for y in (np.linalg.solve(x, b), b)))


def _cholesky(x: Any, factor: Any, *, upper: bool) -> float:
    return lower_factor(_symmetric(x), np.matrix_transpose(factor) if upper else factor)


def _determinant(x: Any, found: Any) -> float:
    with np.errstate(divide="ignore"):
        return determinant(x, found, np.sign(found), np.log(np.abs(found)))


def _slogdet(x: Any, sign: Any, size: Any) -> float:
    with np.errstate(divide="ignore"):
        error = determinant(x, sign * size, sign, np.log(size))
    # The logarithm was rounded: the error is a share of that of the largest possible determinant.
    largest = _largest_determinant(x)
    return error / max(1.0, abs(math.log(largest))) if largest else error


def _largest_determinant(x: Any) -> float:
    return float(size(x).item()) ** len(x)


PROMISES: Mapping[str, Promise] = {
    "cholesky": Promise(_cholesky, _positive),
    "determinant": Promise(_determinant, largest=_largest_determinant),
    "eigh": Promise(lambda x, *found: eigenvectors(_symmetric(x), *found)),
    "inverse": Promise(_solution, _least, _largest_solution),
    "qr": Promise(lambda x, q, r, complete: triangular_factors(x, q, r)),
    "slogdet": Promise(_slogdet, largest=lambda *_: 1.0),
    "solve": Promise(_solution, _least, _largest_solution),
    "svd": Promise(singular_values),
}


def showing(case: GraphCase) -> GraphCase:
    """Return the case with what decompositions take and return among its outputs."""
    case = case.prune()
    shown: list[int] = []
    values: list[Leaf | Step] = []
    for entry in case.entries:
        own = range(len(values), len(values) + results(entry))
        values += [entry] * len(own)
        if isinstance(entry, Step) and entry.operator in PROMISES:
            taken = [n for n in entry.operands if n is not None]
            shown += [*(n for n in taken if isinstance(values[n], Step)), *own]
    return replace(case, outputs=tuple(dict.fromkeys([*case.outputs, *shown])))


def without_decompositions(graph: Graph, feeds: Arrays, found: Arrays) -> tuple[Graph, Arrays]:
    """Return the graph with a backend's results of decompositions as inputs, and all inputs.

    Raises `AssertionError` for what decompositions returned if they break their promises.
    """
    shown = {(o.number, o.index): name for name, o in graph.outputs.items()}
    values = {place: found[name] for place, name in shown.items()}
    b, feeds = GraphBuilder(), dict(feeds)
    written: dict[int, tuple[Operand, ...]] = {}
    for node in graph.nodes():
        if isinstance(node, InputNode):
            values[node.number, 0] = np.asarray(feeds[node.name]).reshape(node.types[0].shape)
        elif isinstance(node, ConstantNode):
            values[node.number, 0] = array_of(Namespace(), node.array)
        elif isinstance(node, OperatorNode) and node.operator.name in PROMISES:
            operands = [values[o.number, o.index] for o in node.operands if o is not None]
            names = [shown[node.number, index] for index in range(len(node.types))]
            _hold(node, operands, [found[name] for name in names])
            feeds |= {name: found[name] for name in names}
            written[node.number] = tuple(
                b.input(name, type.dtype, type.shape)
                for name, type in zip(names, node.types, strict=True)
            )
            continue
        written[node.number] = b.adopt(move_node(node, b, written))
    return b.build({n: written[o.number][o.index] for n, o in graph.outputs.items()}), feeds


def _hold(node: OperatorNode, operands: list[Any], found: list[Any]) -> None:
    """Raise an error for results that are further off than rounding explains."""
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
    stacks = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in operands]
    for place in np.ndindex(*lead):
        matrices = [np.asarray(each[place], "float64") for each in stacks]
        results = [np.asarray(each[place], "float64") for each in found]
        wrong = _wrong(node, matrices, results)
        name = f"{node.operator.name} of matrix {list(place)} {matrices[0].tolist()}"
        assert not wrong, f"{name} {wrong}: {[each.tolist() for each in results]}"


def _wrong(node: OperatorNode, operands: list[Any], results: list[Any]) -> str:
    """Say what is wrong with the results for one matrix, "" if nothing is."""
    x, *_ = operands
    name, dtype = node.operator.name, node.types[0].dtype
    error, regularity, largest = PROMISES[name]
    if not all(np.isfinite(each).all() for each in operands):
        return ""  # no equation holds of NaN or infinity
    if np.any(x) and not 1 / RANGE < size(x).item() < RANGE:
        return ""
    roundings = LIMIT if dtype == "float32" else HALF_LIMIT
    limit = roundings * max(x.shape) * 2 * UNIT[dtype]
    regular = regularity(x)
    if name == "slogdet":
        results = [results[0], np.exp(results[1])]
    finite = all(np.isfinite(each).all() for each in results)
    if regular < -limit:
        return "has results, though no matrix has this square" if finite else ""
    if regular < limit:
        return ""  # rounding decides whether there are results
    most = largest(*operands)
    if most and not LEAST[dtype] / limit < most < MOST[dtype] / 2:
        return ""
    if not finite:
        return "is not finite"
    found = error(*operands, *results, **node.options)
    return "" if found <= limit else f"is off by {found:.1e}, not {limit:.1e}"
