"""Texts with low-rank adapters: what is rewritten, what stays, what is refused."""

from __future__ import annotations

import pytest

from webnnm import DataError
from webnnm.editing.low_rank import adapters, add_adapters
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse
from webnnm.notation.formatter import format_document

HEAD = "m:input shape=[8] sequence=words; m:output shape=[8] sequence=words;"
SELF = "attend(q, k, v, o, heads=2, bias=true, causal=true)"


def adapt(text: str, targets: str | list[str] = "attend", **settings: float) -> str:
    """Return the layers of the adapted text, checked to have the parameters of before, frozen."""
    before = elaborate(parse(HEAD + text))
    document = add_adapters(before, targets, **settings)  # type: ignore[arg-type]
    after = elaborate(document)
    shapes = {p.name: p.features[0].sizes() for p in after.parameters}
    assert all(shapes[p.name] == p.features[0].sizes() for p in before.parameters)
    own = [name for each in adapters(after) for name in (each.a, each.b)]
    assert own
    assert [p.name for p in after.parameters if p.trainable] == own
    assert not after.warnings
    return format_document(document)


def refusal(text: str, targets: str | list[str] = "attend", **settings: float) -> str:
    with pytest.raises(DataError) as caught:
        adapt(text, targets, **settings)
    return str(caught.value)


def test_projections_stand_one_by_one_with_their_biases() -> None:
    text = adapt(f"m:layers relu(), {SELF};", ["q*", "v*"], rank=2, alpha=2)
    assert "relu(name=projected)" in text
    assert "lora(weight=q, a=q_lora_a, b=q_lora_b, size=8, node=projected" in text
    assert "matmul(k, node=projected, shape=[8], trainable=false),\n  add(k_b, name=k" in text
    assert "attend(q2, k2, v2, node=q2, heads=2, causal=true)" in text
    assert "  mul(" not in text  # alpha / rank is 1


def test_a_layer_that_is_named_keeps_its_name_at_its_end() -> None:
    text = adapt(
        "m:layers block(repeat=2); block:layers layerNorm(name=normed),"
        " attend(q, k, v, o=w, heads=2, name=attended), residual(to=normed), add(attended);"
    )
    assert "node=normed, name=q" in text
    assert "size=8, name=attended)" in text
    assert "  block(repeat=2, trainable=false)" in text


def test_keys_of_another_sequence_come_from_there() -> None:
    text = adapt(
        "e:input shape=[6] sequence=others; m:layers relu(), attend(q, k, v, o=w, heads=2, to=e);"
    )
    assert text.count("node=e") == 2 and "to=e" in text


def test_projections_written_as_products_count_as_attention() -> None:
    text = adapt(
        "m:layers relu(name=x), matmul(a, shape=[8], name=p), matmul(b, node=x, shape=[8]),"
        " rmsNorm(g, name=n), attend(p, n, x, node=p, heads=2), matmul(c, shape=[8]), relu(),"
        " matmul(d);"
    )
    assert text.count("lora(weight") == 3 and "matmul(d, trainable=false)" in text


def test_each_repetition_has_factors_of_its_own() -> None:
    network = elaborate(
        parse(HEAD + "m:layers block(repeat=3); block:layers matmul(w, shape=[8]), relu();")
    )
    found = adapters(elaborate(add_adapters(network, "w*", rank=2, alpha=3, dropout=0.25)))
    assert [each.weight for each in found] == ["w1", "w2", "w3"]
    assert [each.b for each in found] == ["w_lora_b1", "w_lora_b2", "w_lora_b3"]
    assert {(each.scale, each.dropout) for each in found} == {(1.5, 0.25)}


def test_what_cannot_be_adapted_is_named() -> None:
    repeated = "m:layers block(repeat=3); block:layers matmul(w, shape=[8]), relu();"
    assert 'NNM704: the text has "w1" and "w2" in the same place' in refusal(repeated, "w1")
    assert 'no matrix of a matmul or attend layer is called "wx*"' in refusal(repeated, "wx*")
    assert "no attend layer has projections" in refusal("m:layers matmul(w);")
    assert "residual(skip=…) counts" in refusal(f"m:layers relu(), residual(skip=1), {SELF};")
    given = "m:layers block(bias=true); block:layers attend(q, k, v, o=w, heads=2);"
    assert "bias=true comes from the call" in refusal(given)
    assert 'has a block "lora"' in refusal("m:layers lora(), matmul(w); lora:layers relu();", "w*")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"rank": 0}, "rank is 0"), ({"alpha": -1}, "alpha is -1"), ({"dropout": 1}, "dropout is 1")],
)
def test_numbers_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    assert message in refusal("m:layers matmul(w);", "w*", **settings)
