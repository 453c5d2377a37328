"""Random numbers with keys: reproducible, independent, well distributed."""

from __future__ import annotations

import math

import pytest

from webnnm import jit, random, vmap, xp
from webnnm.eager.errors import ArrayValueError


def values(x: xp.Array) -> list[float]:
    return x.tolist()


def test_a_key_gives_the_same_numbers_everywhere() -> None:
    # Written down once: programs, platforms and versions agree on them.
    assert random.bits(random.key(0), 4).tolist() == BITS
    assert jit(lambda k: random.bits(k, 4))(random.key(0)).tolist() == BITS
    wanted = [each / 46337**2 for each in BITS]
    assert values(random.uniform(random.key(0), 4)) == pytest.approx(wanted, abs=2e-7)


BITS = [1950215767, 44487815, 1034938114, 595391087]


def test_keys_that_are_split_give_other_numbers() -> None:
    keys = random.split(random.key(3), 20)
    drawn = vmap(lambda k: random.bits(k, 50))(keys)
    assert drawn.tolist() == [random.bits(k, 50).tolist() for k in keys]
    assert len({*xp.reshape(drawn, (-1,)).tolist()}) == 1000
    assert random.fold_in(random.key(3), 7).tolist() == keys[7].tolist()


def test_numbers_are_spread_evenly() -> None:
    number, bins = 20_000, 50
    x = values(random.uniform(random.key(1), number))
    counts = [0] * bins
    pairs = [0] * 100
    for at, each in enumerate(x):
        counts[int(each * bins)] += 1
        if at % 2:
            pairs[int(each * 10) * 10 + int(x[at - 1] * 10)] += 1
    chi = sum((each - number / bins) ** 2 / (number / bins) for each in counts)
    assert 20 < chi < 90  # 49 degrees of freedom: 99.9 % lie within
    chi = sum((each - number / 200) ** 2 / (number / 200) for each in pairs)
    assert 55 < chi < 155  # 99 degrees of freedom


def test_neighbouring_seeds_and_counters_are_not_related() -> None:
    rows = [values(random.uniform(random.key(seed), 2000)) for seed in range(6)]
    rows += [rows[0][1:] + rows[0][:1], rows[0][2:] + rows[0][:2]]
    for at, a in enumerate(rows):
        for b in rows[:at]:
            product = sum((p - 0.5) * (q - 0.5) for p, q in zip(a, b, strict=True)) / 2000
            assert abs(product * 12) < 4 / math.sqrt(2000)


def test_normal_numbers_have_their_moments() -> None:
    x = random.normal(random.key(2), (20_000,))
    moments = [float(xp.mean(x**power)) for power in (1, 2, 3, 4)]
    assert moments == pytest.approx([0, 1, 0, 3], abs=0.1)


def test_choices_are_within_their_range() -> None:
    dice = random.randint(random.key(5), (6000,), 1, 7).tolist()
    assert {*dice} == {1, 2, 3, 4, 5, 6}
    assert all(900 < dice.count(face) < 1100 for face in range(1, 7))
    assert sorted(random.permutation(random.key(6), 30).tolist()) == [*range(30)]
    drawn = random.categorical(random.key(7), xp.log(xp.asarray([[0.2, 0.8]] * 4000)))
    assert 3100 < int(xp.sum(drawn)) < 3300
    with pytest.raises(ArrayValueError, match="to before 1"):
        random.randint(random.key(0), (2,), 1, 1)
    with pytest.raises(ArrayValueError, match="a key is"):
        random.bits(random.split(random.key(0)))


def test_a_kernel_draws_what_operators_do() -> None:
    pytest.importorskip("numpy")
    from dataclasses import replace

    from webnnm import GraphBuilder
    from webnnm.backends.reference import evaluate
    from webnnm.ops.random_pairs import random_pairs

    b = GraphBuilder()
    key, counters = b.input("key", "int32", [4]), b.input("counters", "int32", [5])
    outputs = {
        f"{way} {side} {at}": y
        for way, operator in (
            ("kernel", random_pairs),
            ("w", replace(random_pairs, reference=None)),
        )
        for side in range(3)
        for at, y in enumerate(b.apply(operator, [key, counters], {"side": side}))
    }
    given = {"key": [1, 46336, 0, 7], "counters": [0, 1, 46336, 46337, 2**31 - 1]}
    found = evaluate(b.build(outputs), given)
    for side in range(3):
        for at in range(2):
            drawn = found[f"kernel {side} {at}"].tolist()
            assert drawn == found[f"w {side} {at}"].tolist()
            assert all(0 <= each < 46337 for each in drawn)


def test_normal_numbers_take_few_kernels() -> None:
    from webnnm.backends.kernels import computable
    from webnnm.eager.calls import as_arrays, rebuild, trace, unpack_arguments
    from webnnm.eager.scopes import plain_graph
    from webnnm.eager.trees import flatten

    leaves, structure = flatten([random.key(0)])
    arrays = as_arrays(leaves)
    found = trace(
        unpack_arguments(lambda key: random.normal(key, (64, 4))),
        arrays,
        [each.shape for each in arrays],
        rebuild(structure),
    )
    graph = computable(plain_graph(found.graph))
    assert sum(hasattr(node, "operator") for node in graph.nodes()) < 60


def test_negative_numbers_make_keys_like_others() -> None:
    for number in (-1, -(2**31)):
        key = random.fold_in(random.key(0), number)
        assert all(0 <= each < 46337 for each in key.tolist())
    assert random.fold_in(random.key(0), -1).tolist() != random.key(0).tolist()
    with pytest.raises(OverflowError, match="out of range for int32"):
        random.fold_in(random.key(0), 2**40)
