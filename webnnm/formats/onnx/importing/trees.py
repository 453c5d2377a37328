"""Decision trees (ai.onnx.ml), walked level by level for all rows and trees at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import (
    as_type,
    broadcast_to,
    part,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.tensors import host_array
from webnnm.graph.node import Operand

DOMAIN = "ai.onnx.ml"
MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
"""The comparisons by their numbers in the newest operator."""
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The functions of the scores by their numbers in the newest operator."""
MAX_DEPTH = 4096


@dataclass
class Forest:
    """Nodes of trees in columns; a leaf is followed by itself, and has a weight for each target."""

    targets: int
    roots: list[int] = field(default_factory=list[int])
    features: list[int] = field(default_factory=list[int])
    splits: list[float] = field(default_factory=list[float])
    modes: list[str] = field(default_factory=list[str])
    missing: list[int] = field(default_factory=list[int])
    yes: list[int] = field(default_factory=list[int])
    no: list[int] = field(default_factory=list[int])
    weights: dict[int, dict[int, float]] = field(default_factory=dict[int, dict[int, float]])

    def leaf(self, weights: dict[int, float]) -> int:
        """Add a leaf, and return its number."""
        number = len(self.features)
        self.features.append(0)
        self.splits.append(0.0)
        self.modes.append("LEAF")
        self.missing.append(0)
        self.yes.append(number)
        self.no.append(number)
        self.weights[number] = weights
        return number

    def depth(self, c: Call) -> int:
        """Return how many comparisons lie between a root and a leaf at most."""
        level, depth = set(self.roots), 0
        while level := {
            after
            for number in level
            for after in (self.yes[number], self.no[number])
            if after != number
        }:
            depth += 1
            if depth > min(MAX_DEPTH, len(self.features)):
                raise c.invalid("its trees have cycles, or too many levels")
        return depth


def _find_leaves(c: Call, x: Operand, forest: Forest) -> Operand:
    """Return the number of the leaf that each row reaches in each tree, [rows, trees]."""
    b, rows = c.b, x.shape[0]

    def column(values: Sequence[Any], dtype: Any) -> Operand:
        code = {"int32": "i", "uint8": "B", "float64": "d"}[dtype]
        return b.constant(HostArray(dtype, (len(values),), array(code, values)))

    features, yes, no = (
        column(numbers_of_nodes, "int32")
        for numbers_of_nodes in (forest.features, forest.yes, forest.no)
    )
    splits = as_type(c, column(forest.splits, "float64"), x.dtype)
    kinds = {mode for mode in forest.modes if mode != "LEAF"}
    if not kinds <= {*MODES}:
        raise c.not_supported(f"there is no comparison {min(kinds - {*MODES})}")
    numbers = column([0 if m == "LEAF" else MODES.index(m) for m in forest.modes], "uint8")
    state = broadcast_to(c, column(forest.roots, "int32"), (rows, len(forest.roots)))
    compare = dict(
        zip(
            MODES,
            (b.lesser_or_equal, b.lesser, b.greater_or_equal, b.greater, b.equal, b.not_equal),
            strict=True,
        )
    )
    for _ in range(forest.depth(c)):
        value = b.gather_elements(x, b.gather(features, state), axis=1)
        bound, truth = b.gather(splits, state), None
        for mode in sorted(kinds):
            holds = compare[mode](value, bound)
            own = b.equal(b.gather(numbers, state), b.constant(MODES.index(mode), "uint8"))
            truth = holds if truth is None else b.where(own, holds, truth)
        assert truth is not None
        if any(forest.missing):
            tracks = b.gather(column(forest.missing, "uint8"), state)
            truth = b.logical_or(truth, b.logical_and(b.not_equal(value, value), tracks))
        state = b.where(truth, b.gather(yes, state), b.gather(no, state))
    return state


def _scores(c: Call, x: Operand, forest: Forest, aggregate: str) -> Operand:
    """Return the aggregated weights of the leaves, [rows, targets]."""
    if x.rank == 1:
        x = reshape_to(c, x, (1, *x.shape))
    if x.dtype not in ("float32", "float64"):
        x = as_type(c, x, "float32")
    if max(forest.features, default=0) >= x.shape[1] or min(forest.features, default=0) < 0:
        raise c.invalid(f"its trees use more than the {x.shape[1]} features of {x}")
    if not forest.roots or aggregate not in AGGREGATES:
        raise c.not_supported(f"{len(forest.roots)} trees, aggregated by {aggregate}")
    leaves, size = (
        _find_leaves(c, x, forest),
        c.check_size(len(forest.features) * forest.targets, "its weights"),
    )
    table = array("d", bytes(8 * size))
    for leaf, weights in forest.weights.items():
        for target, weight in weights.items():
            if not 0 <= target < forest.targets:
                raise c.invalid(f"it has no target {target}")
            table[leaf * forest.targets + target] += weight
    wide = c.b.constant(HostArray("float64", (len(forest.features), forest.targets), table))
    reached = c.b.gather(as_type(c, wide, x.dtype), leaves, axis=0)
    reduce = {"SUM": c.b.reduce_sum, "AVERAGE": c.b.reduce_mean}
    reduce |= {"MIN": c.b.reduce_min, "MAX": c.b.reduce_max}
    return reduce[aggregate](reached, axes=[1])


def _apply_transform(c: Call, scores: Operand, name: str) -> Operand:
    if name not in TRANSFORMS[:3]:
        raise c.not_supported(f"the transform {name}")
    if name == "SOFTMAX":
        return c.b.softmax(scores, axis=1)
    return c.b.sigmoid(scores) if name == "LOGISTIC" else scores


@imports("TreeEnsemble", domain=DOMAIN)
def tree_ensemble(c: Call, x: Operand) -> Operand:
    """Sums, means or extrema of the weights of the leaves that a row reaches."""
    forest = Forest(c.integer("n_targets", 1))
    forest.roots = c.integers("tree_roots")
    forest.features = c.integers("nodes_featureids")
    forest.splits = _numbers(c, "nodes_splits", "")
    numbers = [int(k) for k in host_array(c.tensor("nodes_modes")).values()]
    if max(numbers, default=0) >= len(MODES):
        raise c.not_supported("membership in sets")
    forest.modes = [MODES[k] for k in numbers]
    amount = len(forest.features)
    forest.missing = c.integers("nodes_missing_value_tracks_true", [0] * amount)
    forest.yes, forest.no = c.integers("nodes_truenodeids"), c.integers("nodes_falsenodeids")
    aggregate, transform = c.integer("aggregate_function", 1), c.integer("post_transform", 0)
    indices = (*numbers, *forest.roots, *forest.yes, *forest.no, aggregate, transform)
    if min(indices) < 0:
        raise c.invalid(f"it has the number {min(indices)} for a node or a function")
    targets, weights = c.integers("leaf_targetids"), _numbers(c, "leaf_weights", "")
    leaves = [
        forest.leaf({target: weight}) for target, weight in zip(targets, weights, strict=True)
    ]
    for following, name in ((forest.yes, "nodes_trueleafs"), (forest.no, "nodes_falseleafs")):
        for row, is_leaf in enumerate(c.integers(name)):
            following[row] = (leaves if is_leaf else range(amount))[following[row]]
    scores = _scores(c, x, forest, AGGREGATES[aggregate])
    return _apply_transform(c, scores, TRANSFORMS[transform])


def _numbers(c: Call, name: str, suffix: str = "_as_tensor") -> list[float]:
    """Return numbers that are a list, or, in float64, a tensor."""
    if c.has(name + suffix):
        return [float(value) for value in host_array(c.tensor(name + suffix)).values()]
    return c.numbers(name, ())


def _forest(c: Call, prefix: str, targets: int) -> Forest:
    """Return the trees of an operator before version 5: nodes are known by tree and number."""
    forest = Forest(targets)
    keys = [*zip(c.integers("nodes_treeids"), c.integers("nodes_nodeids"), strict=True)]
    row_of = {key: row for row, key in enumerate(keys)}
    forest.features = c.integers("nodes_featureids")
    forest.splits = _numbers(c, "nodes_values")
    forest.modes = [name.removeprefix("BRANCH_") for name in c.strings("nodes_modes", ())]
    forest.missing = c.integers("nodes_missing_value_tracks_true", [0] * len(keys))
    after = zip(c.integers("nodes_truenodeids"), c.integers("nodes_falsenodeids"), strict=True)
    followed: set[int] = set()
    for row, (key, pair, mode) in enumerate(zip(keys, after, forest.modes, strict=True)):
        ends = [row if mode == "LEAF" else row_of[key[0], node] for node in pair]
        forest.yes.append(ends[0])
        forest.no.append(ends[1])
        followed |= {*ends} - {row}
        if mode == "LEAF":
            forest.weights[row] = {}
            forest.features[row] = 0
    leaves = zip(c.integers(f"{prefix}_treeids"), c.integers(f"{prefix}_nodeids"), strict=True)
    weights = _numbers(c, f"{prefix}_weights")
    for key, target, weight in zip(leaves, c.integers(f"{prefix}_ids"), weights, strict=True):
        own = forest.weights[row_of[key]]
        own[target] = own.get(target, 0.0) + weight
    forest.roots = [row for row in range(len(keys)) if row not in followed]
    return forest


def _add_base(c: Call, scores: Operand, base: Sequence[float]) -> Operand:
    return scores + c.b.constant(list(base), scores.dtype, (1, len(base))) if base else scores


@imports("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(c: Call, x: Operand) -> Operand:
    """Sums, means or extrema of the weights of the leaves that a row reaches."""
    forest = _forest(c, "target", c.integer("n_targets", 1))
    scores = _scores(c, x, forest, c.string("aggregate_function", "SUM"))
    scores = _add_base(c, scores, _numbers(c, "base_values"))
    return as_type(c, _apply_transform(c, scores, c.string("post_transform", "NONE")), "float32")


@imports("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(c: Call, x: Operand) -> tuple[Operand | None, Operand]:
    """The class whose leaves weigh most, and the weights of all classes."""
    labels = c.integers("classlabels_int64s", ())
    classes = len(labels) or len(c.strings("classlabels_strings", ()))
    used = {*c.integers("class_ids")}
    forest = _forest(c, "class", classes)
    weights = _numbers(c, "class_weights")
    base = _numbers(c, "base_values")
    name = c.string("post_transform", "NONE")
    raw = _scores(c, x, forest, "SUM")
    if classes != 2 or len(used) != 1:
        raw = _add_base(c, raw, base)
        return _labels(c, raw, labels), as_type(c, _apply_transform(c, raw, name), "float32")
    # Two classes by one score: a probability if no weight is negative, otherwise a margin.
    (one,) = used
    score = _add_base(c, part(c, raw, 1, one, 1), base[-1:])
    probable = all(weight >= 0 for weight in weights)
    middle = scalar_like(c, 0.5 if probable else 0.0, score)
    zero = score * 0
    label = _labels(c, c.b.concat([zero + middle, score], axis=1), labels)
    if one == 1:
        both = c.b.concat([zero, score], axis=1)
        return label, as_type(c, _apply_transform(c, both, name), "float32")
    if name != "LOGISTIC":
        other = 1 - score if probable else -score
        return label, as_type(c, c.b.concat([other, score], axis=1), "float32")
    both = c.b.concat([-score, score], axis=1)
    return label, as_type(c, c.b.sigmoid(both), "float32")


def _labels(c: Call, scores: Operand, labels: Sequence[int]) -> Operand | None:
    """Return the labels of the largest scores, None if they are texts."""
    if not labels:
        return None
    best = c.b.arg_max(scores, axis=1)
    return c.b.gather(c.b.constant(list(labels), "int64", (len(labels),)), best)
