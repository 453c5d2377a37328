"""The layers of attention, with projections with and without biases."""

from __future__ import annotations

from webnnm.transformers.architectures.model_text import layers


def attention(
    width: int,
    heads: int,
    *,
    biases: str,
    kv_heads: int | None = None,
    head_size: int | None = None,
    options: str = "",
    norms: bool = False,
    tokens: int | None = None,
) -> str:
    """Return the layers of a block: one if all projections are alike, otherwise one for each.

    >>> print(attention(8, 2, biases=""))
      attend(wq, wk, wv, o=wo, heads=2)

    - `biases`: which of the projections q, k, v and o have a bias, such as "qkv".
    - `head_size`: the size of one head, if it is not the width divided by the heads.
    - `options`: further options of attend.
    - `norms`: whether queries and keys are normalised in each head.
    - `tokens`: the number of tokens, if they are not a sequence.
    """
    size = head_size or width // heads
    arguments = [f"heads={heads}"]
    arguments += [f"kvHeads={kv_heads}"] if kv_heads not in (None, heads) else []
    alike = biases in ("", "qkvo") and not norms
    arguments += [f"headSize={size}"] if alike and size * heads != width else []
    arguments += [options] if options else []
    if alike:
        arguments = ["o=wo", *(["bias=true"] if biases else []), *arguments]
        return layers(f"attend(wq, wk, wv, {', '.join(arguments)})")
    rows: list[str] = []
    lead = "" if tokens is None else f"{tokens}, "
    for letter, count in (("q", heads), ("k", kv_heads or heads), ("v", kv_heads or heads)):
        rows += _projection(letter, count, size, letter in biases, norms and letter != "v", lead)
    out = (f"matmul(wo, shape=[{lead}{width}])", "add(wo_b)" if "o" in biases else "")
    return layers(*rows, f"attend(q, k, v, node=q, {', '.join(arguments)})", *out)


def _projection(letter: str, heads: int, size: int, bias: bool, norm: bool, lead: str) -> list[str]:
    rows = [f"matmul(w{letter}, node=input, shape=[{lead}{heads * size}])"]
    rows += [f"add(w{letter}_b)"] if bias else []
    if norm:
        rows += [f"reshape([{lead}{heads}, {size}])", f"norm(weight={letter}_norm)"]
        rows += [f"reshape([{lead}{heads * size}])"]
    return [*rows[:-1], f"{rows[-1][:-1]}, name={letter})"]
