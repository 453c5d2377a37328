"""Operators derived from their decompositions: what is not declared follows from the function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, TypedDict, Unpack

from webnnm.core.dtypes import DataType
from webnnm.core.naming import camel_case
from webnnm.ops.declare.derived import NewParameter, derive_rules
from webnnm.ops.declare.layer import LayerRules
from webnnm.ops.declare.operator import (
    Composite,
    Decompose,
    Earlier,
    Gradient,
    Infer,
    Option,
    Reference,
    Sample,
    Slot,
    StableHLO,
    covers_all,
    lower_by_parts,
)
from webnnm.ops.declare.signature import Ranks, Types, read_signature
from webnnm.ops.declare.tensors import Builder, OperatorError
from webnnm.ops.declare.traits import Trait


class Declaration(TypedDict, total=False):
    """What may be declared of a composite in addition to its decomposition.

    `types` are the data types of all operands, or of each by name, `ranks` the minimum and maximum
    rank; `checks` are further checks of options; `operands` and `options` replace what the
    signature says. `parameters` are the operands that may be new parameters in the notation, with
    their role and shape; `result` is the type of the results if it is not that of the operands;
    `results` their number, or their names. `layer` replaces the derived rules of the notation,
    except for the options that it leaves out; None keeps the operator out of the notation. All
    other fields are those of `Composite`.
    """

    summary: str
    types: Types | Mapping[str, Types]
    ranks: Ranks | Mapping[str, Ranks]
    checks: Mapping[str, Callable[[Any], Any]]
    operands: Sequence[Slot]
    options: Mapping[str, Option]
    parameters: Mapping[str, NewParameter]
    result: DataType
    results: int | Sequence[str]
    layer: LayerRules | None
    samples: Sequence[Sample]
    hazards: Collection[str]
    traits: Collection[Trait]
    native: str
    covers: Callable[..., bool]
    infer: Infer
    gradient: Gradient
    reference: Reference
    stablehlo: StableHLO | None
    earlier: Earlier


def declare_composite(
    *names: str, **declaration: Unpack[Declaration]
) -> Callable[[Decompose], Composite]:
    """Make an operator from its decomposition, `(b, *operands, **options)`, without registering it.

    The names come first, by default that of the function. Raises `WebNNMError` NNM113 or NNM303 for
    an invalid declaration.
    """

    def declare(function: Decompose) -> Composite:
        name, *aliases = names or [camel_case(function.__name__)]
        signature = read_signature(
            name,
            function,
            types=declaration.get("types", "float"),
            ranks=declaration.get("ranks", (0, None)),
            own_checks=declaration.get("checks", {}),
        )
        operands = tuple(declaration.get("operands", signature.operands))
        options = {**signature.options, **declaration.get("options", {})}
        results = declaration.get("results", 1)
        count = results if isinstance(results, int) else len(results)
        layer = declaration.get("layer")
        if "layer" not in declaration:
            parameters, result = declaration.get("parameters", {}), declaration.get("result")
            layer = derive_rules(name, operands, options, parameters, results, result)
        if layer is not None:
            layer = replace(layer, options={**signature.readable(options), **layer.options})
        rules = [declaration.get(rule) for rule in ("gradient", "reference", "stablehlo")]
        native = declaration.get("native", "")
        gradient = declaration.get("gradient")
        return Composite(
            name=name,
            summary=declaration.get("summary", _first_line(function)),
            operands=operands,
            options=options,
            decompose=_with_checks(name, function, count),
            layer=layer,
            samples=tuple(declaration.get("samples", ())),
            aliases=tuple(aliases),
            hazards=frozenset(declaration.get("hazards", ())),
            traits=frozenset(declaration.get("traits", ())),
            # With a rule of its own it has to stay one node of the graph, as if WebNN had a
            # method of its name; backends detect that there is none, and decompose it.
            native=native or (name if any(rules) else ""),
            covers=declaration.get("covers", covers_all),
            infer=declaration.get("infer"),
            gradient=None if gradient is None else _listing(name, gradient),
            reference=declaration.get("reference"),
            stablehlo=declaration.get("stablehlo", lower_by_parts),
            earlier=declaration.get("earlier"),
        )

    return declare


def _first_line(function: Decompose) -> str:
    documentation = (function.__doc__ or "").strip().splitlines()
    return documentation[0].rstrip(".") if documentation else ""


def _with_checks(name: str, function: Decompose, results: int) -> Decompose:
    """Return a decomposition that reports its own mistakes."""
    this = f'the decomposition of "{name}"'

    @wraps(function)
    def decompose(b: Builder, *operands: Any, **options: Any) -> Any:
        try:
            outputs = _as_tuple(function(b, *operands, **options))
        except AttributeError as error:
            if error.obj is not b:
                raise
            raise OperatorError("NNM204", f"{this} uses an unknown name: {error}") from error
        except RecursionError as error:
            raise OperatorError("NNM207", f"{this} does not terminate", "it uses itself") from error
        if len(outputs) != results:
            message = f"{this} returns {len(outputs)} results, not {results}"
            raise OperatorError("NNM302", message, "set results=… in its declaration")
        for result in outputs:
            if getattr(result, "builder", None) is not b:
                message = f"{this} returns {result!r}, not a tensor of its builder"
                raise OperatorError("NNM303", message, "return the result")
        return outputs if results > 1 else outputs[0]

    return decompose


def _listing(name: str, gradient: Gradient) -> Gradient:
    """Return a gradient rule that returns a sequence of one gradient per operand."""

    @wraps(gradient)
    def rule(b: Builder, g: Any, y: Any, *operands: Any, **options: Any) -> Sequence[Any]:
        gradients = _as_tuple(gradient(b, g, y, *operands, **options))
        if len(gradients) != len(operands):
            counts = f"{len(gradients)} gradients for {len(operands)} operands"
            message = f'the gradient rule of "{name}" returns {counts}'
            raise OperatorError("NNM302", message, "return None where no gradient flows")
        return gradients

    return rule


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)
