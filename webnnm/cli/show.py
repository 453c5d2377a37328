"""The command `show`: a model as a table of layers, as a graph, as a plan."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from webnnm import ops
from webnnm.cli.common import (
    FINE,
    Parsers,
    add_model,
    add_references,
    add_sequence,
    aligned,
    command,
    lengths,
    model_document,
    print_json,
    problem,
    read_bytes,
)
from webnnm.compiler.pipeline import PASSES, Target, transformed
from webnnm.compiler.plan import lower
from webnnm.core.errors import DataError
from webnnm.diagram.diagram import Diagram
from webnnm.diagram.networks import network_drawing
from webnnm.formats.onnx.described import description, inputs, nodes, value_rows, values
from webnnm.formats.onnx.messages import GraphProto
from webnnm.formats.onnx.reader import read_model
from webnnm.formats.safetensors import parse_json
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, OperatorNode
from webnnm.model.graph_text import graph_text
from webnnm.model.report import summary

ONNX = ".onnx"
STAGES = ("lowering", *(each.name for each in PASSES))
"""The passes from a graph to a plan, in order."""


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(
        commands,
        "show",
        "show the layers, graph or plan of a model, or the contents of an ONNX model",
        _show,
    )
    add_model(one)
    add_references(one)
    what = one.add_mutually_exclusive_group()
    what.add_argument("--graph", action="store_true", help="the tensor graph, one line per node")
    what.add_argument("--plan", action="store_true", help="the plan that the browser runs, as JSON")
    what.add_argument(
        "--svg", action="store_true", help="a diagram as SVG, which needs webnnm[diagram]"
    )
    what.add_argument("--mermaid", action="store_true", help="a diagram as text for Mermaid")
    what.add_argument(
        "--values",
        action="store_true",
        help="the values of an ONNX model, by the names that at= takes",
    )
    one.add_argument(
        "--after",
        choices=STAGES,
        default="lowering",
        metavar="PASS",
        help=f"show graph or plan after a pass: {', '.join(STAGES)}; default: as written",
    )
    one.add_argument("--limits", metavar="JSON", help="file with opSupportLimits() of a browser")
    one.add_argument("--batch", type=int, default=1, metavar="N", help="rows; default: 1")
    one.add_argument("--depth", type=int, metavar="N", help="blocks to expand in a diagram")
    add_sequence(one)


def _show(given: argparse.Namespace) -> int:
    if given.model.endswith(ONNX):
        return _show_onnx(given)
    if given.values:
        raise DataError("NNM704", "--values lists those of an ONNX model", hint="give its path")
    network = elaborate(model_document(given.model, given.references))
    if given.svg or given.mermaid:
        diagram = Diagram(network_drawing(network, depth=given.depth))
        print(diagram.svg() if given.svg else diagram.mermaid(), end="")
        return FINE
    drawn = given.graph or given.plan
    if not drawn and (given.after != STAGES[0] or given.limits):
        drawn = given.graph = True
    if not drawn:
        if given.json:
            print_json({"model": given.model, **described(network)})
        else:
            print(summary(network, "no backend"))
        return FINE
    lowered = lower_network(network, batch=given.batch, sequence=lengths(given.sequence))
    graph, rewrites = _after(lowered.graph(), given.after, _limits(given.limits))
    plan = lower(graph)
    if given.plan:
        print(json.dumps(plan.content, indent=2 if given.json else None, allow_nan=False))
    elif given.json:
        print_json({"model": given.model, "graph": plan.content, "rewrites": rewrites})
    else:
        print(graph_text(graph, of_model=True))
        for text in rewrites:
            print(f"- {text}")
    return FINE


def _show_onnx(given: argparse.Namespace) -> int:
    """Show inputs, outputs, weights and operators of an ONNX model."""
    others = given.graph, given.plan, given.svg, given.mermaid, given.limits
    if any(others) or given.after != STAGES[0]:
        raise DataError(
            "NNM704",
            "an ONNX model can only be shown as a whole",
            hint="`(await webnnm.load_onnx(path)).graph(shapes)` is its graph",
        )
    model = read_model(read_bytes(given.model))
    graph = model.graph or GraphProto()
    if given.values:
        rows = list(value_rows(graph))
        if given.json:
            print_json({"model": given.model, "values": rows})
        else:
            print(aligned([[row["name"], row["operator"], row["type"]] for row in rows]))
        return FINE
    if given.json:
        print_json(
            {
                "model": given.model,
                "inputs": {name: str(value) for name, value in inputs(graph).items()},
                "outputs": {name: str(value) for name, value in values(graph.output).items()},
                "opsets": {each.domain: each.version for each in model.opset_import},
                "weights": {each.name: list(each.dims) for each in graph.initializer},
                "operators": sorted({node.op_type for node in nodes(graph)}),
            }
        )
    else:
        print(description(model))
    return FINE


def _after(graph: Graph, stage: str, limits: Mapping[str, Any] | None) -> tuple[Graph, list[str]]:
    """Return the graph after a pass, and what was rewritten to fit."""
    target = Target(_unlimited(graph) if limits is None else limits)
    return transformed(graph, target, PASSES[: STAGES.index(stage)])


def _unlimited(graph: Graph) -> dict[str, Any]:
    """Return the limits of a browser that supports all of WebNN."""
    used = {node.operator for node in graph.nodes() if isinstance(node, OperatorNode)}
    native = {operator.native for operator in (*ops.registry().values(), *used)}
    return {name: {} for name in native if name}


def _limits(place: str | None) -> dict[str, Any] | None:
    if place is None:
        return None
    try:
        found = parse_json(read_bytes(place).decode("utf-8-sig"))
    except ValueError as error:
        raise DataError("NNM704", f'"{place}" is not JSON: {error}') from error
    if not isinstance(found, dict):
        raise DataError("NNM704", f'"{place}" contains no limits', hint="opSupportLimits() as JSON")
    return found


def described(network: Network) -> dict[str, Any]:
    """Return inputs, outputs, layers and parameters of a network as JSON."""
    return {
        "name": network.name,
        "inputs": [
            {"name": v.block, "dtype": v.dtype, **_shape(v.features[0])} for v in network.inputs
        ],
        "outputs": [
            {"name": o.name, "dtype": o.dtype, **_shape(o.source.features)} for o in network.outputs
        ],
        "layers": [
            {
                "name": layer.label,
                "operator": layer.operator.name,
                "dtype": layer.result_types[0],
                **_shape(layer.features[0]),
            }
            for layer in network.layers
        ],
        "parameters": [
            {
                "name": p.name,
                "dtype": p.dtype,
                "shape": list(p.features[0].sizes()),
                "trainable": p.trainable,
            }
            for p in network.parameters
        ],
        "warnings": [problem(warning) for warning in network.warnings],
    }


def _shape(features: Any) -> dict[str, Any]:
    """Return the sizes of the features, and the sequence before them if there is one."""
    sequence = {} if features.sequence is None else {"sequence": features.sequence}
    return {**sequence, "shape": list(features.sizes())}
