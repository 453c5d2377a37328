"""Indexing, sums by indices and regions of pictures as ONNX Runtime computes them, or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.formats.onnx_models import constant, graph, info, model, node
from webnnm.backends.reference import evaluate
from webnnm.core.errors import DataError
from webnnm.formats.onnx.described import inputs
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.messages import ModelProto
from webnnm.formats.onnx.writer import serialize

np = pytest.importorskip("numpy")
runtime = pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")

Dice = Any
"""A generator of random numbers."""


def one(text: str, feeds: dict[str, Any], tensors: dict[str, Any], **attributes: Any) -> ModelProto:
    """Return a model of one node."""
    call = node(text, **attributes)
    infos = [info(name, *array.shape) for name, array in feeds.items()]
    held = [constant(name, array, array.dtype.name) for name, array in tensors.items()]
    of = graph([call], infos, list(call.output), *held)
    for output in of.output:  # types that ONNX Runtime finds by itself
        output.type = None
    whole = model(of, opset=18)
    whole.ir_version = 8
    return whole


def expected(of: ModelProto, feeds: dict[str, Any]) -> list[Any] | None:
    """Return what ONNX Runtime computes, None if it refuses."""
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = runtime.InferenceSession(serialize(of), options, ["CPUExecutionProvider"])
        return list(session.run(None, feeds))
    except Exception:  # it has no class of errors of its own
        return None


def check(of: ModelProto, feeds: dict[str, Any], *, refusals: bool = True) -> None:
    """Check that a model is refused, or computed, as ONNX Runtime does."""
    wanted = expected(of, feeds)
    if wanted is None:
        assert refusals
        with pytest.raises(DataError):
            import_model(of)
        return
    found = import_model(of)
    results = evaluate(found.graph, {**found.parameters, **feeds})
    for value, array in zip(results.values(), wanted, strict=True):
        assert value.shape == array.shape
        np.testing.assert_allclose(value, array, rtol=1e-4, atol=1e-5)


def floats(dice: Dice, *shape: int) -> Any:
    return dice.normal(0, 1, shape).astype("float32")


def indices(dice: Dice, size: int, shape: Any) -> Any:
    """Return indices of an axis; in every other case some may lie beyond it."""
    far = 2 * int(dice.integers(2))
    return dice.integers(-size - far, size + far, shape)


def draw(dice: Dice) -> tuple[list[int], int]:
    """Return a shape, and one of its axes."""
    shape = [int(dice.integers(1, 5)) for _ in range(int(dice.integers(1, 4)))]
    return shape, int(dice.integers(-len(shape), len(shape)))


def gather(dice: Dice) -> ModelProto:
    shape, axis = draw(dice)
    return one(
        "y = Gather(x, i)", *_of(dice, shape, i=indices(dice, shape[axis], (2, 2))), axis=axis
    )


def gather_elements(dice: Dice) -> ModelProto:
    shape, axis = draw(dice)
    i = indices(dice, shape[axis], shape)
    return one("y = GatherElements(x, i)", *_of(dice, shape, i=i), axis=axis)


def gather_nd(dice: Dice) -> ModelProto:
    shape, _ = draw(dice)
    depth = int(dice.integers(1, len(shape) + 1))
    i = np.stack([indices(dice, size, 3) for size in shape[:depth]], -1)
    return one("y = GatherND(x, i)", *_of(dice, shape, i=i))


def scatter_elements(dice: Dice) -> ModelProto:
    shape, axis = draw(dice)
    some = [int(dice.integers(1, size + 1)) for size in shape]
    some[axis] = 1  # equal indices would leave it open which update comes last
    i = indices(dice, shape[axis], some)
    given = _of(dice, shape, i=i, u=floats(dice, *some))
    return one("y = ScatterElements(x, i, u)", *given, axis=axis)


def scatter_nd(dice: Dice) -> ModelProto:
    shape, _ = draw(dice)
    i = np.stack([indices(dice, shape[0], 1)], -1)
    given = _of(dice, shape, i=i, u=floats(dice, 1, *shape[1:]))
    return one("y = ScatterND(x, i, u)", *given)


def slices(dice: Dice) -> ModelProto:
    shape, axis = draw(dice)
    far = [-(2**63), 2**63 - 1, 2**31 - 1, *range(-6, 7)]
    a, b = (np.asarray([far[int(dice.integers(len(far)))]]) for _ in range(2))
    step = np.asarray([int(dice.choice([-3, -2, -1, 1, 2]))])
    given = _of(dice, shape, a=a, b=b, k=np.asarray([axis]), s=step)
    return one("y = Slice(x, a, b, k, s)", *given)


def sequences(dice: Dice) -> ModelProto:
    shape = [int(dice.integers(1, 5)) for _ in range(3)]
    lengths = dice.integers(0, shape[0] + 2, shape[1])
    return one("y = ReverseSequence(x, n)", *_of(dice, shape, n=lengths), time_axis=0, batch_axis=1)


def largest(dice: Dice) -> ModelProto:
    shape, axis = draw(dice)
    k = np.asarray([int(dice.integers(1, shape[axis] + 2))])
    return one("y, i = TopK(x, k)", *_of(dice, shape, k=k), axis=axis)


def _of(dice: Dice, shape: list[int], **tensors: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs of a case, and its tensors."""
    return {"x": floats(dice, *shape)}, tensors


DRAWS: tuple[Callable[[Dice], ModelProto], ...] = (
    gather,
    gather_elements,
    gather_nd,
    scatter_elements,
    scatter_nd,
    slices,
    sequences,
    largest,
)


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__)
def test_indices(draw: Callable[[Dice], ModelProto]) -> None:
    for seed in range(40):
        of = draw(np.random.default_rng(seed))
        assert of.graph is not None
        sizes = inputs(of.graph)["x"].shape
        feeds = {"x": floats(np.random.default_rng(seed + 1), *sizes)}
        wanted = expected(of, feeds)
        if wanted is None or all(array.size for array in wanted):  # no graph has empty outputs
            check(of, feeds)


EQUATIONS = {
    "ii->i": [(4, 4)],
    "ii": [(4, 4)],
    "...ii->...i": [(2, 3, 4, 4)],
    "...ij,...jk->...ik": [(1, 3, 4), (2, 4, 5)],
    "b...,b...->...": [(2, 3, 4), (2, 3, 4)],
    "iij,jk->ik": [(3, 3, 4), (4, 2)],
    "i...->...i": [(2, 3, 4)],
    "iji,j->": [(3, 4, 3), (4,)],
    "iii->i": [(3, 3, 3)],
    "...,...": [(2, 3), (2, 3)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_sums_of_products_by_indices(equation: str) -> None:
    dice = np.random.default_rng(0)
    feeds = {f"x{k}": floats(dice, *shape) for k, shape in enumerate(EQUATIONS[equation])}
    text = f"y = Einsum({', '.join(feeds)})"
    check(one(text, feeds, {}, equation=equation), feeds, refusals=False)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("position", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [2, 0])
def test_features_of_regions(mode: str, position: str, ratio: int) -> None:
    dice = np.random.default_rng(0)
    feeds = {"x": floats(dice, 2, 3, 20, 24)}
    corners = dice.uniform(0, 60, (5, 2))
    tensors = {
        "r": np.concatenate([corners, corners + dice.uniform(5, 60, (5, 2))], 1).astype("float32"),
        "b": dice.integers(0, 2, 5),
    }
    shape = {"output_height": 3, "output_width": 4, "sampling_ratio": ratio, "spatial_scale": 0.25}
    how = {"mode": mode, "coordinate_transformation_mode": position}
    check(one("y = RoiAlign(x, r, b)", feeds, tensors, **shape, **how), feeds, refusals=False)
