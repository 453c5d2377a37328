"""Suggests the text of a model for a table, as a starting point."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.data.protocol import AnyDataset

WIDTHS = (8, 64)
"""The minimum and maximum number of units of a hidden layer."""
MANY_ROWS = 1000
"""From this many training rows, there are two hidden layers."""

BEGINNING = """\
{name}:name {name};
{name}:input shape=[{inputs}];
{name}:output shape=[{outputs}];
{name}:layers
{layers};
dense:layers
  matmul(w),
  add(b),
  activation();
"""


def suggest_model(dataset: AnyDataset, name: str = "model") -> str:
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

    Models of classes end in softmax, models of quantities in a layer without activation. There are
    about as many parameters as training rows, in one hidden layer of 8 to 64 units, or two from
    1000 rows. Raises `DataError` NNM702 for datasets of several inputs or outputs, and for rows
    that are not a list of numbers.
    """
    fields = [*dataset.inputs.values(), *dataset.outputs.values()]
    shapes = [field.shape for field in fields]
    if len(fields) != 2 or len(shapes[0]) != 1 or len(shapes[1]) > 1:
        raise DataError(
            "NNM702",
            f"{dataset.name} has inputs and outputs {', '.join(str([*shape]) for shape in shapes)}",
            hint="suggestions are for tables: one input of several numbers, one output",
        )
    (inputs,), kind = shapes[0], fields[1].kind
    outputs = fields[1].classes if kind == "classes" else shapes[1][0] if shapes[1] else 1
    rows = dataset.size("training")
    width = WIDTHS[0]
    while width < WIDTHS[1] and 2 * width * (inputs + outputs) <= rows:
        width *= 2
    layers = [f"  dense(shape=[{width}], activation=relu)"] * (1 + (rows >= MANY_ROWS))
    if kind in ("classes", "onehot"):
        layers.append(f"  dense(shape=[{outputs}], activation=softmax)")
    elif kind == "multilabel":
        layers.append(f"  dense(shape=[{outputs}], activation=sigmoid)")
    else:
        layers += ["  matmul(w)", "  add(b)"]
    return BEGINNING.format(name=name, inputs=inputs, outputs=outputs, layers=",\n".join(layers))
