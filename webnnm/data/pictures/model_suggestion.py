"""Suggests the text of a model for pictures, as a starting point."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.data.protocol import AnyDataset

FILTERS = (16, 64)
"""The number of filters of the first convolution, and the maximum: each has twice as many."""
SMALLEST = 4
"""Pictures are halved while their shorter side stays at least this long."""
MAX_STAGES = 4
UNITS = 64

TEXT = """\
{name}:name {name};
{name}:input shape={{channels:{channels}, height:{height}, width:{width}}};
{name}:output shape=[{outputs}];
{name}:layers
{layers};
patterns:layers
  conv2d(f, filters=filters, kernel=3, padding=same, bias=c),
  relu(),
  maxPool2d(windowDimensions=2, strides=2);
"""


def suggest_image_model(dataset: AnyDataset, name: str = "model") -> str:
    """Return the text of a small convolutional network for a dataset of pictures.

    >>> from webnnm import ImageDataset
    >>> pictures = ImageDataset(bytes(range(128)), ["a", "b"], shape=(8, 8), split=(1, 0, 0))
    >>> print(suggest_image_model(pictures, "shapes"))
    shapes:name shapes;
    shapes:input shape={channels:1, height:8, width:8};
    shapes:output shape=[2];
    shapes:layers
      patterns(filters=16),
      flatten(),
      dropout(p=0.25),
      matmul(w1, shape=[64]), add(b1), relu(),
      dropout(p=0.25),
      matmul(w2), add(b2), softmax();
    patterns:layers
      conv2d(f, filters=filters, kernel=3, padding=same, bias=c),
      relu(),
      maxPool2d(windowDimensions=2, strides=2);
    <BLANKLINE>

    Convolutions and poolings alternate until the shorter side is less than 8. Models of classes end
    in softmax, of several labels per picture in sigmoid, of quantities in a layer without
    activation. Raises `DataError` NNM702 for datasets that are not pictures with one output.
    """
    fields = [*dataset.inputs.values(), *dataset.outputs.values()]
    sizes = dict(zip(fields[0].names, fields[0].shape, strict=False))
    if len(fields) != 2 or not {"height", "width"} <= {*sizes} or len(fields[1].shape) > 1:
        shapes = ", ".join(str([*field.shape]) for field in fields)
        raise DataError(
            "NNM702",
            f"{dataset.name} has inputs and outputs {shapes}",
            hint="suggestions are for ImageDataset: one input of pictures, one output; those for "
            "DetectionDataset are made by suggest_detection_model",
        )
    target = fields[1]
    outputs = target.classes if target.kind == "classes" else (target.shape or (1,))[0]
    side, filters, stages = min(sizes["height"], sizes["width"]), FILTERS[0], list[str]()
    while side // 2 >= SMALLEST and len(stages) < MAX_STAGES:
        stages.append(f"  patterns(filters={filters})")
        side, filters = side // 2, min(2 * filters, FILTERS[1])
    activation = {"multilabel": ", sigmoid()", "continuous": ""}.get(target.kind, ", softmax()")
    return TEXT.format(
        name=name,
        channels=sizes.get("channels", 1),
        height=sizes["height"],
        width=sizes["width"],
        outputs=outputs,
        layers=",\n".join(
            (
                *stages,
                "  flatten()",
                "  dropout(p=0.25)",
                f"  matmul(w1, shape=[{UNITS}]), add(b1), relu()",
                "  dropout(p=0.25)",
                f"  matmul(w2), add(b2){activation}",
            )
        ),
    )
