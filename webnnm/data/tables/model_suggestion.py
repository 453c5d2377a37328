"""Suggests the text of a model for a table, as a starting point."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape
from webnnm.data.binding.label_facts import measure_labels
from webnnm.data.protocol import AnyDataset, load_outputs

WIDTHS = (8, 64)
"""The minimum and maximum number of units of a hidden layer."""
MANY_ROWS = 1000
"""From this many training rows, there are two hidden layers."""

DENSE = """\
dense:layers
  matmul(w),
  add(b),
  activation();"""


def suggest_model(
    dataset: AnyDataset, name: str = "model", *, hidden: Sequence[int] | None = None
) -> str:
    """Return the text of a model for a dataset whose rows are numbers, such as a table.

    >>> from webnnm import TableDataset
    >>> rows = {"a": [*range(20)], "b": [3, 4] * 10, "kind": ["x", "y"] * 10}
    >>> print(suggest_model(TableDataset(rows, split=(1, 0, 0))))
    model:name model;
    model:input shape=[2];
    model:output shape=[2];
    model:layers
      dense(shape=[8], activation=relu),
      dense(shape=[2], activation=softmax);
    dense:layers
      matmul(w),
      add(b),
      activation();
    <BLANKLINE>

    - `hidden`: the units of each hidden layer, () for a linear model; by default one layer of 8 to
      64 units, or two from 1000 training rows, with about as many parameters as there are rows.

    Models of classes end in softmax, models of quantities in a layer without activation. The loss
    of quantities that are never negative, but some of them far above the others, is the mean
    squared error, whose best answer is their mean. Raises `DataError` NNM702 for datasets of
    several inputs or outputs, and for rows that are not a list of numbers.
    """
    (inputs,), kind, outputs = _get_sizes(dataset)
    hidden = choose_hidden_layers(dataset) if hidden is None else hidden
    layers = [f"  dense(shape=[{width}], activation=relu)" for width in hidden]
    if kind in ("classes", "onehot"):
        layers.append(f"  dense(shape=[{outputs}], activation=softmax)")
    elif kind == "multilabel":
        layers.append(f"  dense(shape=[{outputs}], activation=sigmoid)")
    else:
        layers += ["  matmul(w)", "  add(b)"]
    lines = [f"{name}:name {name};", f"{name}:input shape=[{inputs}];"]
    lines.append(f"{name}:output shape=[{outputs}];")
    if has_long_tail(dataset):
        lines.append(f"{name}:loss MSE;")
    lines += [f"{name}:layers", ",\n".join(layers) + ";"]
    composite = [DENSE] if any("dense" in layer for layer in layers) else []
    return "\n".join([*lines, *composite, ""])


def choose_hidden_layers(dataset: AnyDataset) -> list[int]:
    """Return the units of each hidden layer of a model for a dataset."""
    (inputs,), _, outputs = _get_sizes(dataset)
    rows = dataset.size("training")
    width = WIDTHS[0]
    while width < WIDTHS[1] and 2 * width * (inputs + outputs) <= rows:
        width *= 2
    return [width] * (1 + (rows >= MANY_ROWS))


def has_long_tail(dataset: AnyDataset) -> bool:
    """Return whether some targets are far above the others, as counts and prices are."""
    [(block, field)] = dataset.outputs.items()
    if field.kind != "continuous":
        return False
    outputs, masks = load_outputs(dataset, "training")
    scale = getattr(dataset, "target_standardization", {}).get(block)
    facts = measure_labels(outputs[block], field, masks.get(block), scale)
    return facts.long_tailed


def _get_sizes(dataset: AnyDataset) -> tuple[Shape, str, int]:
    """Return the shape of an input row, the kind of the output, and the size of its rows."""
    fields = [*dataset.inputs.values(), *dataset.outputs.values()]
    shapes = [field.shape for field in fields]
    if len(fields) != 2 or len(shapes[0]) != 1 or len(shapes[1]) > 1:
        raise DataError(
            "NNM702",
            f"{dataset.name} has inputs and outputs {', '.join(str([*shape]) for shape in shapes)}",
            hint="suggestions are for tables: one input of several numbers, one output",
        )
    kind = fields[1].kind
    outputs = fields[1].classes if kind == "classes" else shapes[1][0] if shapes[1] else 1
    return shapes[0], kind, outputs
