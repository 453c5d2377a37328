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
    norms: str = "",
    tokens: int | None = None,
    limit: float | None = None,
    turn: str = "",
) -> str:
    """Return the layers of a block: one if all projections are alike, otherwise one for each.

    >>> print(attention(8, 2, biases=""))
      attend(wq, wk, wv, o=wo, heads=2)

    - `biases`: which of the projections q, k, v and o have a bias, such as "qkv".
    - `head_size`: the size of one head, if it is not the width divided by the heads.
    - `options`: further options of attend.
    - `norms`: how queries and keys are normalised: in each of the "heads", over "all", or "".
    - `tokens`: the number of tokens, if they are not a sequence.
    - `limit`: the largest absolute value of queries, keys and values.
    - `turn`: the layer that turns queries and keys by the positions of their tokens.
    """
    size = head_size or width // heads
    arguments = [f"heads={heads}"]
    arguments += [f"kvHeads={kv_heads}"] if kv_heads not in (None, heads) else []
    alike = biases in ("", "qkvo") and not norms and limit is None and not turn
    arguments += [f"headSize={size}"] if alike and size * heads != width else []
    arguments += [options] if options else []
    if alike:
        arguments = ["o=wo", *(["bias=true"] if biases else []), *arguments]
        return layers(f"attend(wq, wk, wv, {', '.join(arguments)})")
    rows: list[str] = []
    lead = "" if tokens is None else f"{tokens}, "
    for letter, count in (("q", heads), ("k", kv_heads or heads), ("v", kv_heads or heads)):
        rows += [f"matmul(w{letter}, node=input, shape=[{lead}{count * size}])"]
        rows += [f"add(w{letter}_b)"] if letter in biases else []
        rows += [f"clamp(minValue={-limit}, maxValue={limit})"] if limit is not None else []
        rows += _normalise(letter, count, size, norms if letter != "v" else "", lead)
        rows += [turn] if turn and letter != "v" else []
        rows[-1] = f"{rows[-1][:-1]}, name={letter})".replace("(, ", "(")
    out = (f"matmul(wo, shape=[{lead}{width}])", "add(wo_b)" if "o" in biases else "")
    return layers(*rows, f"attend(q, k, v, node=q, {', '.join(arguments)})", *out)


def _normalise(letter: str, heads: int, size: int, norms: str, lead: str) -> list[str]:
    """Return the layers that normalise queries or keys."""
    norm = f"norm(weight={letter}_norm)"
    if norms != "heads":
        return [norm] if norms else []
    return [f"reshape([{lead}{heads}, {size}])", norm, f"reshape([{lead}{heads * size}])"]
