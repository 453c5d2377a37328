"""The command `show`: a model as a table of layers, as a graph, as a plan, as calls of WebNN."""

from __future__ import annotations

import argparse
import json
from typing import Any

from webnnm.cli.common import (
    OK,
    Parsers,
    add_model,
    add_references,
    add_sequence,
    align,
    command,
    lengths,
    model_document,
    print_json,
    problem,
    read_bytes,
)
from webnnm.compiler.calls import javascript
from webnnm.compiler.plan import lower
from webnnm.compiler.stages import STAGES, graph_after
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.diagram.diagram import Diagram
from webnnm.diagram.networks import network_drawing
from webnnm.formats.onnx.described import description, inputs, nodes, value_rows, values
from webnnm.formats.onnx.messages import GraphProto
from webnnm.formats.onnx.reader import read_model
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.model.graph_text import graph_text
from webnnm.model.report import summary

ONNX = ".onnx"


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
        "--calls", action="store_true", help="the plan as calls of WebNN, in JavaScript"
    )
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


def _show(arguments: argparse.Namespace) -> int:
    if arguments.model.endswith(ONNX):
        return _show_onnx(arguments)
    if arguments.values:
        raise DataError("NNM704", "--values lists those of an ONNX model", hint="give its path")
    network = elaborate(model_document(arguments.model, arguments.references))
    if arguments.svg or arguments.mermaid:
        diagram = Diagram(network_drawing(network, depth=arguments.depth))
        print(diagram.svg() if arguments.svg else diagram.mermaid(), end="")
        return OK
    shows_graph = arguments.graph or arguments.plan or arguments.calls
    if not shows_graph and (arguments.after != STAGES[0] or arguments.limits):
        shows_graph = arguments.graph = True
    if not shows_graph:
        if arguments.json:
            print_json({"model": arguments.model, **describe_network(network)})
        else:
            print(summary(network, "no backend"))
        return OK
    sequence = lengths(arguments.sequence)
    if isinstance(sequence, int):
        names = (vertex.features[0].sequence for vertex in network.inputs)
        sequence = {name: sequence for name in names if name}
    lowered = lower_network(network, batch=arguments.batch, sequence=sequence)
    graph, rewrites = graph_after(lowered.graph(), arguments.after, _limits(arguments.limits))
    plan = lower(graph)
    if arguments.plan:
        print(json.dumps(plan.content, indent=2 if arguments.json else None, allow_nan=False))
    elif arguments.calls:
        print(javascript(plan))
    elif arguments.json:
        print_json({"model": arguments.model, "graph": plan.content, "rewrites": rewrites})
    else:
        print(graph_text(graph, of_model=True))
        for text in rewrites:
            print(f"- {text}")
    return OK


def _show_onnx(arguments: argparse.Namespace) -> int:
    """Show inputs, outputs, weights and operators of an ONNX model."""
    kinds = arguments.graph, arguments.plan, arguments.calls, arguments.svg, arguments.mermaid
    if any((*kinds, arguments.limits)) or arguments.after != STAGES[0]:
        raise DataError(
            "NNM704",
            "an ONNX model can only be shown as a whole",
            hint="`(await webnnm.load_onnx(path)).graph(shapes)` is its graph",
        )
    model = read_model(read_bytes(arguments.model))
    graph = model.graph or GraphProto()
    if arguments.values:
        rows = list(value_rows(graph))
        if arguments.json:
            print_json({"model": arguments.model, "values": rows})
        else:
            print(align([[row["name"], row["operator"], row["type"]] for row in rows]))
        return OK
    if arguments.json:
        print_json(
            {
                "model": arguments.model,
                "inputs": {name: str(value) for name, value in inputs(graph).items()},
                "outputs": {name: str(value) for name, value in values(graph.output).items()},
                "opsets": {item.domain: item.version for item in model.opset_import},
                "weights": {item.name: list(item.dims) for item in graph.initializer},
                "operators": sorted({node.op_type for node in nodes(graph)}),
            }
        )
    else:
        print(description(model))
    return OK


def _limits(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        limits = parse_json(read_bytes(path).decode("utf-8-sig"))
    except ValueError as error:
        raise DataError("NNM704", f'"{path}" is not JSON: {error}') from error
    if not isinstance(limits, dict):
        raise DataError("NNM704", f'"{path}" contains no limits', hint="opSupportLimits() as JSON")
    return limits


def describe_network(network: Network) -> dict[str, Any]:
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
