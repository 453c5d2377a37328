"""Attention: against the formula, and as the notation writes it (spec C.9)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails, model, network, parameters, run
from tests.unit.ops.cases import np
from webnnm import GraphBuilder, ModelError
from webnnm.backends.reference import evaluate
from webnnm.graph.elaboration.annotate import Depth, parameter_depths
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.ops.declare.relative import relative_bias

rng = np.random.default_rng(0)


def formula(q: Any, k: Any, v: Any, heads: int = 1, shared: int = 0, addend: Any = 0.0) -> Any:
    """Return attention by the book: one head after the other."""
    size = q.shape[-1] // heads
    group = heads // (shared or heads)
    parts = []
    for head in range(heads):
        one = slice(head * size, (head + 1) * size)
        other = slice(head // group * size, (head // group + 1) * size)
        scores = q[..., one] @ np.swapaxes(k[..., other], -1, -2) / size**0.5 + addend
        e = np.exp(scores - scores.max(-1, keepdims=True))
        parts.append(e / e.sum(-1, keepdims=True) @ v[..., other])
    return np.concatenate(parts, -1)


def draw(*shapes: tuple[int, ...]) -> list[Any]:
    return [rng.uniform(-2, 2, shape).astype("float32") for shape in shapes]


def attend(*tensors: Any, wide: bool = True, **options: Any) -> Any:
    b = GraphBuilder()
    xs = [b.input(f"x{i}", t.dtype.name, t.shape) for i, t in enumerate(tensors)]
    graph = b.build({"y": b.attend(*xs, **options)})
    return evaluate(graph, {f"x{i}": t for i, t in enumerate(tensors)}, wide=wide)["y"]


@pytest.mark.parametrize(("heads", "shared"), [(1, 1), (2, 2), (4, 2), (4, 1)])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_heads_and_shared_heads(heads: int, shared: int, lead: tuple[int, ...]) -> None:
    q, k, v = draw((*lead, 3, heads * 2), (*lead, 5, shared * 2), (*lead, 5, shared * 2))
    found = attend(q, k, v, heads=heads, kv_heads=shared)
    np.testing.assert_allclose(found, formula(q, k, v, heads, shared), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("queries", "keys"), [(4, 4), (2, 5), (1, 3), (4, 3)])
def test_causal_queries_see_no_later_keys(queries: int, keys: int) -> None:
    q, k, v = draw((queries, 4), (keys, 4), (keys, 4))
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    addend = np.where(j > i + keys - queries, -1e9, 0)
    found = attend(q, k, v, heads=2, causal=True)
    np.testing.assert_allclose(found, formula(q, k, v, 2, addend=addend), rtol=1e-6, atol=1e-6)


def test_integer_masks_hide_and_float_masks_are_added() -> None:
    q, k, v = draw((2, 3, 4), (2, 3, 4), (2, 3, 4))
    per_pair = np.asarray([[1, 0, 1], [0, 1, 1], [1, 1, 0]], "uint8")
    hidden = np.where(per_pair == 0, -1e9, 0)
    expected = formula(q, k, v, 2, addend=hidden)
    np.testing.assert_allclose(attend(q, k, v, per_pair, heads=2), expected, atol=1e-6)
    (bias,) = draw((3, 3))
    expected = formula(q, k, v, 2, addend=bias)
    np.testing.assert_allclose(attend(q, k, v, bias, heads=2), expected, atol=1e-6)


def test_halves_stay_finite_where_everything_is_hidden() -> None:
    q, k, v = (x.astype("float16") for x in draw((2, 4), (3, 4), (3, 4)))
    found = attend(q * 30, k * 30, v, np.zeros(3, "uint8"), wide=False)
    assert found.dtype == np.float16
    assert np.isfinite(found).all()


def test_rotated_products_depend_on_the_distance_alone() -> None:
    (x,) = draw((1, 6))
    b = GraphBuilder()
    turned = b.rotary_embedding(b.expand(b.input("x", "float32", (1, 6)), new_shape=(5, 6)))
    rows = evaluate(b.build({"y": turned}), {"x": x}, wide=True)["y"]
    products = rows @ rows.T
    for distance in range(5):
        diagonal = np.diagonal(products, distance)
        np.testing.assert_allclose(diagonal, products[0, distance], atol=1e-9)
    angle = 3 / 10000 ** (2 / 6)
    expected = x[0, 1] * np.cos(angle) - x[0, 4] * np.sin(angle)
    np.testing.assert_allclose(rows[3, 1], expected, rtol=1e-6)


def test_rates_of_all_pairs_stand_in_place_of_a_base() -> None:
    q, k, v = draw((3, 8), (3, 8), (3, 8))
    rates = [100 ** (-2 * pair / 8) for pair in range(4)]
    assert np.array_equal(attend(q, k, v, rope=rates), attend(q, k, v, rope=100.0))


def test_later_queries_are_rotated_where_they_stand() -> None:
    q, k, v = draw((4, 2), (4, 2), (4, 2))
    whole = attend(q, k, v, rope=True, causal=True)
    last = attend(q[2:], k, v, rope=True, causal=True)
    np.testing.assert_allclose(last, whole[2:], rtol=1e-6)


# The notation.

SEQUENCE = "shape=[4] sequence=true"


def text(layers: str, *more: str, output: str = "shape=[4]") -> str:
    return model(layers, *more, input=SEQUENCE, output=output)


def test_new_operands_are_projections() -> None:
    assert parameters(text("attend(q, k, v, o, heads=2, bias=true)")) == {
        **dict.fromkeys(("q1", "k1", "v1", "o1"), (4, 4)),
        **dict.fromkeys(("q_b1", "k_b1", "v_b1", "o_b1"), (4,)),
    }


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ("attend(q, k, v, heads=2, headSize=3)", [(4, 6)] * 3),
        ("attend(q, k, v, heads=2, kvHeads=1)", [(4, 4), (4, 2), (4, 2)]),
        ("attend(q, k, v, o, heads=2, headSize=3, shape=[5])", [(4, 6)] * 3 + [(6, 5)]),
    ],
)
def test_shapes_of_projections(layer: str, expected: list[Any]) -> None:
    last = expected[-1][-1] if len(expected) == 4 else expected[0][-1]
    assert list(parameters(text(layer, output=f"shape=[{last}]")).values()) == expected


def test_declared_projections_say_how_large_heads_are() -> None:
    declared = "m:param q shape=[4, 6], k shape=[4, 3], v shape=[4, 3];"
    found = network(text("attend(q, k, v, heads=2, kvHeads=1)", declared, output="shape=[6]"))
    assert [str(layer.features[0]) for layer in found.layers] == ["[6]"]


def test_biases_of_declared_projections_are_named_after_them() -> None:
    declared = "m:param wq shape=[4, 4];"
    found = parameters(text("attend(wq, k, v, bias=true)", declared))
    assert list(found)[3:] == ["wq_b1", "k_b1", "v_b1"]


def test_result_follows_the_formula() -> None:
    x, q, k, v, o = draw((2, 3, 4), (4, 4), (4, 2), (4, 2), (4, 4))
    feeds = {"m": x, "param/q1": q, "param/k1": k, "param/v1": v, "param/o1": o}
    found = run(text("attend(q, k, v, o, heads=2, kvHeads=1)"), feeds, {"sequence": 3})
    expected = formula(x @ q, x @ k, x @ v, 2, 1) @ o
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_references_are_projected_already() -> None:
    x, w = draw((2, 3, 4), (4, 4))
    layers = "matmul(w, name=p, shape=[4]), tanh(), attend(p, p, input)"
    found = run(text(layers), {"m": x, "param/w1": w}, {"sequence": 3})
    np.testing.assert_allclose(found, formula(x @ w, x @ w, x), rtol=1e-4, atol=1e-5)


def test_keys_and_values_of_another_sequence() -> None:
    x, y, q, k, v = draw((2, 3, 4), (2, 5, 6), (4, 4), (6, 4), (6, 4))
    source = model(
        "attend(q, k, v, to=n, rope=true)",
        "n:input shape=[6] sequence=others;",
        input="shape=[4] sequence=true",
        output="shape=[4] sequence=true",
    )
    feeds = {"m": x, "n": y, "param/q1": q, "param/k1": k, "param/v1": v}
    found = run(source, feeds, {"sequence": 3, "others": 5})
    np.testing.assert_allclose(found, formula(x @ q, y @ k, y @ v), rtol=1e-4, atol=1e-5)


def test_tokens_along_the_last_but_one_feature() -> None:
    x, q, k, v = draw((2, 3, 5, 4), (4, 4), (4, 4), (4, 4))
    source = model(
        "attend(q, k, v, causal=true)", input="shape=[3, 5, 4]", output="shape=[3, 5, 4]"
    )
    found = run(source, {"m": x, "param/q1": q, "param/k1": k, "param/v1": v})
    addend = np.triu(np.full((5, 5), -1e9), 1)
    np.testing.assert_allclose(found, formula(x @ q, x @ k, x @ v, addend=addend), 1e-4, 1e-5)


def test_tokens_of_a_sequence_with_features_between() -> None:
    x, q, k, v = draw((2, 3, 5, 4), (4, 4), (4, 4), (4, 4))
    source = model(
        "attend(q, k, v)", input="shape=[5, 4] sequence=true", output="shape=[5, 4] sequence=true"
    )
    feeds = {"m": x, "param/q1": q, "param/k1": k, "param/v1": v}
    found = run(source, feeds, {"sequence": 3})
    t = np.swapaxes(x, 1, 2)
    expected = np.swapaxes(formula(t @ q, t @ k, t @ v), 1, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("declared", "shape", "spread"),
    [
        ("n:input uint8 shape=[] sequence=true;", (2, 3), (slice(None), None)),
        ("n:input uint8 shape=[3] sequence=true;", (2, 3, 3), ()),
        ("n uint8 [3] [1, 0, 1];", None, ()),
        ("n uint8 [3, 3] [1, 0, 1, 0, 1, 1, 1, 1, 1];", None, ()),
    ],
)
def test_masks_per_key_and_per_pair(declared: str, shape: Any, spread: Any) -> None:
    x, q, k, v = draw((2, 3, 4), (4, 4), (4, 4), (4, 4))
    feeds = {"m": x, "param/q1": q, "param/k1": k, "param/v1": v}
    if shape is None:
        mask = np.asarray([1, 0, 1, 0, 1, 1, 1, 1, 1]).reshape(3, 3)
        mask = mask if "[3, 3]" in declared else mask[0]
    else:
        mask = feeds["n"] = rng.integers(0, 2, shape).astype("uint8")
        mask[..., 0] = 1
    found = run(text("attend(q, k, v, heads=2, mask=n)", declared), feeds, {"sequence": 3})
    addend = np.where(mask[spread] == 0, -1e9, 0)
    expected = formula(x @ q, x @ k, x @ v, 2, addend=addend)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_masks_of_floats_are_added_in_each_head() -> None:
    x, q, k, v, bias = draw((2, 3, 4), (4, 4), (4, 4), (4, 4), (2, 3, 3))
    declared = f"n [2, 3, 3] {bias.tolist()};"
    feeds = {"m": x, "param/q1": q, "param/k1": k, "param/v1": v}
    found = run(text("attend(q, k, v, heads=2, mask=n)", declared), feeds, {"sequence": 3})
    parts = [
        formula(x @ q[:, one], x @ k[:, one], x @ v[:, one], addend=bias[head])
        for head, one in enumerate((slice(2), slice(2, 4)))
    ]
    np.testing.assert_allclose(found, np.concatenate(parts, -1), rtol=1e-4, atol=1e-5)


def test_dropout_thins_the_weights_in_training_alone() -> None:
    found = network(text("attend(q, k, v, heads=2, dropout=0.5)"))
    at_rest = lower_network(found, batch=2, sequence={"sequence": 3})
    assert not at_rest.generators
    training = lower_network(found, batch=2, sequence={"sequence": 3}, training=True)
    (states,) = training.generators.values()
    assert {training.builder.nodes[training.updates[s].number].types[0].shape for s in states} == {
        (2, 2, 3, 3)
    }


def test_halves_compute_in_halves() -> None:
    source = model(
        "attend(q, k, v)",
        input="float16 shape=[4] sequence=true",
        output="float16 shape=[4] sequence=true",
    )
    assert [layer.result_types for layer in network(source).layers] == [["float16"]]


def test_projections_start_as_glorot_even_before_relu() -> None:
    found = initialisers(network(text("attend(q, k, v, o, bias=true), relu()")))
    assert str(found["o1"]) == str(found["q1"]) == "uniform(-0.866, 0.866)"
    assert [str(found[f"{w}_b1"]) for w in "qkvo"] == ["constant(0)"] * 3 + ["constant(0.01)"]


def test_paths_through_to_do_not_count() -> None:
    layers = "tanh(), sin(), exp(name=far), attend(q, k, v, node=input, to=far)"
    assert parameter_depths(network(text(layers)))["q1"] == Depth(1, 1)


def test_names_and_sequence_of_the_result() -> None:
    (layer,) = network(text("attend(q, k, v)")).layers
    assert (layer.features[0].names, layer.features[0].sequence) == (("features",), "sequence")


@pytest.mark.parametrize(
    ("code", "layer", "says"),
    [
        ("NNM406", "attend(q, k, v, ¦heads=3)", "4 features cannot be divided among 3 heads"),
        ("NNM406", "attend(q, k, v, heads=4, ¦kvHeads=3)", "4 heads are not a multiple of 3"),
        ("NNM406", "¦attend(q, k, v, heads=4, rope=true)", "does not split into pairs"),
        ("NNM406", "¦attend(q, k, v, heads=2, rope=[1, 0.5])", "2 rates for 1 pairs"),
        ("NNM303", "attend(q, k, v, ¦rope=[1, 0])", "above 0"),
        ("NNM302", "¦attend(q, k)", "takes 3"),
        ("NNM303", "attend(q, k, v, ¦dropout=1)", "less than 1"),
        ("NNM303", "attend(q, k, v, ¦heads=0)", "not an integer from 1"),
        ("NNM303", "attend(q, k, v, ¦rope=-1)", "above 0"),
        ("NNM205", "attend(q, k, v, ¦to=nothing)", "nothing"),
        ("NNM205", "attend(q, k, v, ¦mask=nothing)", "nothing"),
        ("NNM301", "attend(q, k, v, ¦head=2)", "head"),
        ("NNM404", "attend(q, k, ¦input, headSize=3)", "to 3 in all heads, but v is [4]"),
        ("NNM402", "attend(q, k, v, shape=¦[3])", "declared [3], inferred [4]"),
    ],
)
def test_errors(code: str, layer: str, says: str) -> None:
    fails(code, text(layer), says=says)


def test_there_shall_be_tokens() -> None:
    source = model("¦attend(q, k, v)", input="shape=[4]", output="shape=[4]")
    fails("NNM411", source, says="neither a sequence", hint="sequence=true")
    source = model("¦attend(q, k, v)", input="shape=[] sequence=true", output="shape=[4]")
    fails("NNM405", source, says="need a feature dimension")


def test_masks_are_of_the_sequence() -> None:
    other = "n:input uint8 shape=[] sequence=others;"
    fails("NNM411", text("attend(q, k, v, ¦mask=n)", other), says='"others"')
    large = "n uint8 [2, 3, 3] 1;"
    fails("NNM405", text("attend(q, k, v, ¦mask=n)", large), says="[2, 3, 3]")


@pytest.mark.parametrize(
    ("code", "layer", "says"),
    [
        ("NNM411", "attend(q, k, v, ¦segments=n)", 'segments along "others"'),
        ("NNM405", "attend(q, k, v, ¦segments=two)", "are not one number per token"),
        ("NNM304", "attend(q, k, v, ¦positions=own)", "positions need rope"),
        ("NNM304", "attend(q, k, v, to=far, ¦segments=own)", "that are the same tokens"),
    ],
)
def test_segments_and_positions_are_of_the_tokens(code: str, layer: str, says: str) -> None:
    inputs = "n:input int32 shape=[] sequence=others; two:input int32 shape=[2] sequence=words;"
    more = "own:input int32 shape=[] sequence=words; far:input shape=[4] sequence=others;"
    along = "shape=[4] sequence=words"
    fails(code, model(layer, inputs + more, input=along, output=along), says=says)


@pytest.mark.parametrize("window", [1, 2, 4, 9])
@pytest.mark.parametrize(("queries", "keys"), [(4, 4), (2, 5), (1, 3)])
def test_a_window_hides_what_is_farther_back(queries: int, keys: int, window: int) -> None:
    q, k, v = draw((queries, 4), (keys, 4), (keys, 4))
    apart = np.arange(keys)[None, :] - np.arange(queries)[:, None] - (keys - queries)
    addend = np.where((apart > 0) | (apart <= -window), -1e9, 0)
    found = attend(q, k, v, heads=2, causal=True, window=window)
    np.testing.assert_allclose(found, formula(q, k, v, 2, addend=addend), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("window", [1, 2, 4, 9])
def test_without_causal_a_window_hides_both_sides(window: int) -> None:
    q, k, v = draw((5, 4), (5, 4), (5, 4))
    apart = abs(np.arange(5)[None, :] - np.arange(5)[:, None])
    found = attend(q, k, v, heads=2, window=window)
    expected = formula(q, k, v, 2, addend=np.where(apart >= window, -1e9, 0))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_scale_stands_in_place_of_the_root() -> None:
    q, k, v = draw((3, 4), (5, 4), (5, 4))
    np.testing.assert_allclose(
        attend(q, k, v, scale=1.0), formula(q * 2, k, v), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize(
    ("causal", "buckets", "most", "wanted"),
    [
        (False, 8, 4, {3: 7, 2: 6, 1: 5, 0: 0, -1: 1, -2: 2, -3: 3, -4: 3}),
        (True, 6, 8, {3: 0, 0: 0, -1: 1, -2: 2, -3: 3, -4: 3, -5: 4, -6: 5, -8: 5, -9: 5}),
    ],
)
def test_buckets_of_distances(
    causal: bool, buckets: int, most: int, wanted: dict[int, int]
) -> None:
    tokens = 10
    (table,) = draw((buckets, 2))
    b = GraphBuilder()
    x = b.input("table", "float32", table.shape)
    bias = relative_bias(b, x, 2, tokens, tokens, causal, most)
    found = evaluate(b.build({"y": bias}), {"table": table})["y"]
    for apart, bucket in wanted.items():
        query = 9 if apart < 0 else 0
        np.testing.assert_array_equal(found[:, query, query + apart], table[bucket])


def test_cells_of_a_grid_know_how_far_they_are_apart() -> None:
    height, width, size = 2, 3, 4
    cells = [(y, x) for y in range(height) for x in range(width)]
    q, k, v, down, across = draw(*[(6, size)] * 3, (3, size), (5, size))
    apart = [
        [q[i] @ (down[y - m + height - 1] + across[x - n + width - 1]) for m, n in cells]
        for i, (y, x) in enumerate(cells)
    ]
    b = GraphBuilder()
    xs = [b.input(f"x{i}", "float32", t.shape) for i, t in enumerate((q, k, v, down, across))]
    y = b.attend(*xs[:3], relative_height=xs[3], relative_width=xs[4])
    given = {f"x{i}": t for i, t in enumerate((q, k, v, down, across))}
    found = evaluate(b.build({"y": y}), given, wide=True)["y"]
    np.testing.assert_allclose(found, formula(q, k, v, addend=np.array(apart)), rtol=1e-5)


@pytest.mark.parametrize(
    ("code", "layer", "says"),
    [
        ("NNM304", "¦attend(q, k, v, relativeHeight=h)", "need all tokens of one grid"),
        (
            "NNM404",
            "attend(q, k, v, heads=2, ¦relativeHeight=h, relativeWidth=w)",
            "the size of a head",
        ),
        ("NNM404", "¦attend(q, k, v, relativeHeight=h, relativeWidth=h)", "6 tokens of size 4"),
        (
            "NNM304",
            "attend(q, k, v, ¦to=input, relativeHeight=h, relativeWidth=w)",
            "there is no distance between",
        ),
    ],
)
def test_errors_of_grids(code: str, layer: str, says: str) -> None:
    tables = "m:param h shape=[3, 4], w shape=[5, 4];"
    source = model(layer, tables, input="shape=[6, 4]", output="shape=[6, 4]")
    fails(code, source, says=says)


def test_a_sequence_is_not_a_grid() -> None:
    tables = "m:param h shape=[3, 4], w shape=[5, 4];"
    layer = "¦attend(q, k, v, relativeHeight=h, relativeWidth=w)"
    fails("NNM304", text(layer, tables), says="without a sequence")


def test_some_projections_alone_may_have_a_bias() -> None:
    found = parameters(text("attend(q, k, v, o, heads=2, bias=[q, v, o])"))
    assert [name for name in found if "_b" in name] == ["q_b1", "v_b1", "o_b1"]
    assert not [name for name in parameters(text("attend(q, k, v, bias=false)")) if "_b" in name]


@pytest.mark.parametrize("value", ["[q, x]", "7"])
def test_biases_of_unknown_projections_are_named(value: str) -> None:
    with pytest.raises(ModelError, match=r"expected (q or k or v or o|true or false)"):
        parameters(text(f"attend(q, k, v, bias={value})"))
