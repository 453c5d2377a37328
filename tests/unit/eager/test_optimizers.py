"""Optimizers and schedules by hand take the steps of `NNModel.train`, eager and traced."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create
from webnnm import jit, optimizer, schedule, tree_leaves, tree_map, value_and_grad, xp
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.eager.optimizers import COMMON
from webnnm.eager.schedules import LearningRate
from webnnm.training.optimizers import OPTIMIZERS

TEXT = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[4]), add(b), tanh(), matmul(w), add(b);
"""
ROWS = [[(7 * row * (column + 2) % 11) / 5 - 1 for column in range(3)] for row in range(12)]
TARGETS = [[a * b, a - 3 * c] for a, b, c in ROWS]
EPOCHS, BATCH = 4, 4
BATCHES = len(ROWS) // BATCH

OWN = {*COMMON, *(name for each in OPTIMIZERS.values() for name in each.defaults)} - {"lr"}

Parameters = dict[str, Any]

CASES = [
    ("adam", "cosine", {"beta1": 0.8, "weight_decay": 0.05}),
    ("adamw", "linear", {"gradient_clipping": "global", "clip_alpha": 0.5}),
    ("lion", "exponential", {}),
    ("rlion", "onecycle", {"alpha": 4.0}),
    ("nesterov", "step", {"regularization": "L1+L2", "lambda1": 0.01, "lambda2": 0.02}),
    ("sgdm", "constant", {"warmup_epochs": 2}),
    ("sgd", "constant", {"weight_decay": 0.1}),
    ("adafactor", "cosine", {"weight_decay": 0.1}),
]


def loss(p: Parameters, x: xp.Array, y: xp.Array) -> xp.Array:
    return xp.mean((xp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"] - y) ** 2)


def batches() -> list[tuple[xp.Array, xp.Array]]:
    x, y = xp.asarray(ROWS), xp.asarray(TARGETS)
    return [(x[at : at + BATCH], y[at : at + BATCH]) for at in range(0, len(ROWS), BATCH)] * EPOCHS


@pytest.mark.alike
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize(("name", "kind", "more"), CASES, ids=[case[0] for case in CASES])
async def test_steps_are_those_of_a_training(
    name: str, kind: str, more: dict[str, Any], traced: bool
) -> None:
    model = await create(TEXT, Dataset(ROWS, TARGETS, split=(1, 0, 0)))
    params: Parameters = {p.name: xp.asarray(p.value) for p in model.params()}
    settings = {**PLAIN, "epochs": EPOCHS, "batch_size": BATCH, "lr": 0.02, **more}
    if name != "sgdm":
        settings |= {"momentum_factor": None, "weight_decay": more.get("weight_decay")}
    await model.train({**settings, "optimizer": name, "schedule": kind})
    own = {n: v for n, v in settings.items() if n in OWN and v is not None}
    warmup = more.get("warmup_epochs", 0)
    rate = schedule(kind, lr=0.02, epochs=EPOCHS, batches=BATCHES, warmup_epochs=warmup)
    by_hand = optimizer(name, lr=rate, **own)

    def step(params: Parameters, state: Any, x: xp.Array, y: xp.Array) -> Any:
        value, gradients = value_and_grad(loss)(params, x, y)
        return *by_hand.update(gradients, state, params), value

    if traced:
        step = jit(donate_argnames=["params", "state"])(step)
    state = by_hand.init(params)
    for x, y in batches():
        params, state, _ = step(params, state, x, y)
    assert int(state["step"]) == EPOCHS * BATCHES
    for parameter in model.params():
        wanted = xp.asarray(parameter.value)
        assert float(xp.max(xp.abs(params[parameter.name] - wanted))) <= 1e-6
    model.close()


@pytest.mark.parametrize("kind", ["cosine", "linear", "exponential", "step", "onecycle"])
def test_rates_of_arrays_are_those_of_numbers(kind: str) -> None:
    rate = schedule(kind, lr=0.1, epochs=4, batches=3, min_lr=0.01)
    wanted = [rate(step) for step in range(1, 16)]
    assert jit(rate)(xp.arange(1, 16)).tolist() == pytest.approx(wanted, rel=1e-7)
    assert float(rate(xp.asarray(15))) == pytest.approx(wanted[11], rel=1e-7)


def test_rates_may_be_functions_and_be_given_to_a_step() -> None:
    falling = optimizer("sgdm", lr=lambda step: 1.0 / step, momentum_factor=0, weight_decay=0)
    params, gradients = {"w": xp.zeros(2)}, {"w": xp.ones(2)}
    params, state = falling.update(gradients, falling.init(params), params)
    params, state = falling.update(gradients, state, params)
    assert params["w"].tolist() == [-1.5, -1.5]
    params, state = falling.update(gradients, state, params, lr=0.25)
    assert params["w"].tolist() == [-1.75, -1.75]


def test_decay_and_multipliers_are_said_leaf_by_leaf() -> None:
    start = (xp.ones((2, 2)), [xp.ones(3), xp.ones(3)])
    still = tree_map(xp.zeros_like, start)

    def after(**settings: Any) -> list[float]:
        found = optimizer("adamw", lr=0.1, weight_decay=0.5, **settings)
        moved, _ = found.update(still, found.init(start), start)
        return [round(float(xp.max(x)), 4) for x in tree_leaves(moved)]

    assert after() == [0.95, 1.0, 1.0]
    assert after(decays=(False, [True, False])) == [1.0, 0.95, 1.0]
    assert after(multipliers=(2, [1, 1])) == [0.9, 1.0, 1.0]


def test_states_have_the_shapes_of_their_slots() -> None:
    """None stands where a parameter has no such slot."""
    params = {"w": xp.ones((3, 4)), "b": xp.ones(2)}
    adafactor = optimizer("adafactor")
    _, state = adafactor.update(params, adafactor.init(params), params)
    for moments in (adafactor.init(params)["moments"], state["moments"]):
        shapes = tree_map(lambda x: str(x.shape), moments)
        assert shapes == {
            "row": {"w": "(3,)", "b": None},
            "column": {"w": "(4,)", "b": None},
            "v": {"w": None, "b": "(2,)"},
        }


def test_units_are_clipped_one_by_one() -> None:
    """A column of norm 1 whose gradient has norm 3 is moved by 0.5 with agc_lambda 0.5."""
    params = {"w": xp.asarray([[1.0, 1.0], [0.0, 0.0]])}
    gradients = {"w": xp.asarray([[3.0, 0.1], [0.0, 0.0]])}
    plain = {"lr": 1.0, "momentum_factor": 0, "weight_decay": 0}
    agc = optimizer("sgdm", gradient_clipping="agc", agc_lambda=0.5, **plain)
    moved, _ = agc.update(gradients, agc.init(params), params)
    assert moved["w"].tolist()[0] == pytest.approx([0.5, 0.9])


def test_a_step_builds_nothing_anew() -> None:
    adam = optimizer("adam")
    params, gradients = {"w": xp.ones(5)}, {"w": xp.ones(5)}
    state = adam.init(params)
    device = params["w"].device
    built: list[int] = []
    for number in range(6):
        params, state = adam.update(gradients, state, params, lr=0.1 / (number + 1))
        float(params["w"][0])
        built.append(device.builds)
    assert len({*built[2:]}) == 1


def test_wrong_calls_say_what_is_wrong() -> None:
    with pytest.raises(DataError, match='NNM703: "sgdm" has no "beta1"'):
        optimizer("sgdm", beta1=0.5)
    with pytest.raises(DataError, match="NNM704"):
        optimizer("adamm")
    with pytest.raises(DataError, match="plateau"):
        schedule("plateau", lr=0.1, epochs=3)
    with pytest.raises(DataError, match="NNM704: warmup_epochs is 5 of 4 epochs"):
        schedule(lr=0.1, epochs=4, warmup_epochs=5)
    with pytest.raises(DataError, match="NNM704"):
        schedule(lr=0.1, epochs=4, batches=0)
    adam = optimizer("adam")
    params = {"w": xp.ones(2)}
    state = adam.init(params)
    with pytest.raises(ArrayTypeError, match="float32, not int32"):
        adam.init({"w": xp.asarray([1, 2])})
    with pytest.raises(ArrayValueError, match="gradients are not structured"):
        adam.update({"v": xp.ones(2)}, state, params)
    with pytest.raises(ArrayValueError, match=r"a gradient is \[3\], its parameter \[2\]"):
        adam.update({"w": xp.ones(3)}, state, params)
    with pytest.raises(ArrayValueError, match="moments are not structured"):
        adam.update(params, {**state, "moments": {"m": params, "v": {"w": None}}}, params)
    with pytest.raises(ArrayValueError, match="no parameters"):
        adam.init({})
    assert isinstance(schedule(lr=0.1, epochs=3), LearningRate)
