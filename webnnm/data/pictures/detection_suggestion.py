"""Suggests the text of a model that finds objects in pictures, as a starting point."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.data.pictures.model_suggestion import FILTERS
from webnnm.data.protocol import AnyDataset

VIEW = 4
"""Dilations grow up to the shorter side of the grid divided by this."""
RARE = -2.19
"""The logit of 0.1: before training, few cells are centers (T.-Y. Lin et al. 2017, "Focal loss for
dense object detection", section 4.1)."""

TEXT = """\
{name}:name {name};
{name}:input shape={{channels:{channels}, height:{height}, width:{width}}};
{name}:output shape={{height:{rows}, width:{columns}, values:{depth}}};
{name}:param rare shape=[{classes}] init=constant({rare});
{name}:layers
{layers},
  conv2d(c, node=seen, filters={classes}, kernel=1, bias=rare, name=centers),
  conv2d(s, node=seen, filters={shapes}, kernel=1, bias=t, name=shapes),
  concat([centers, shapes], axis=channels),
  transpose(permutation=[1, 2, 0]);
patterns:layers
  conv2d(f, filters=filters, kernel=3, padding=same),
  batchNorm(scale=g, bias=h),
  relu(),
  maxPool2d(windowDimensions=factor, strides=factor);
around:layers
  conv2d(f, filters=filters, kernel=3, dilations=dilation, padding=same),
  batchNorm(scale=g, bias=h),
  relu();
"""


def suggest_detection_model(dataset: AnyDataset, name: str = "model") -> str:
    """Return the text of a small convolutional network that finds objects in pictures.

    >>> from webnnm import DetectionDataset
    >>> boxes = [[(4, 8, 6, 6, "cat")], []]
    >>> pictures = DetectionDataset(bytes(2048), boxes, shape=(32, 32), split=(1, 0, 0))
    >>> print(suggest_detection_model(pictures, "cats"))
    cats:name cats;
    cats:input shape={channels:1, height:32, width:32};
    cats:output shape={height:8, width:8, values:5};
    cats:param rare shape=[1] init=constant(-2.19);
    cats:layers
      patterns(filters=16, factor=2),
      patterns(filters=32, factor=2),
      around(filters=64, dilation=1),
      around(filters=64, dilation=2),
      around(filters=64, dilation=1, name=seen),
      conv2d(c, node=seen, filters=1, kernel=1, bias=rare, name=centers),
      conv2d(s, node=seen, filters=4, kernel=1, bias=t, name=shapes),
      concat([centers, shapes], axis=channels),
      transpose(permutation=[1, 2, 0]);
    patterns:layers
      conv2d(f, filters=filters, kernel=3, padding=same),
      batchNorm(scale=g, bias=h),
      relu(),
      maxPool2d(windowDimensions=factor, strides=factor);
    around:layers
      conv2d(f, filters=filters, kernel=3, dilations=dilation, padding=same),
      batchNorm(scale=g, bias=h),
      relu();
    <BLANKLINE>

    Poolings reduce the picture to the grid of the dataset; dilated convolutions then look ever
    farther around each cell (F. Yu, V. Koltun, "Multi-scale context aggregation by dilated
    convolutions", arXiv:1511.07122). The scores of centers begin at 0.1. Raises `DataError` NNM702
    for datasets without boxes.
    """
    fields = [*dataset.inputs.values(), *dataset.outputs.values()]
    sizes = dict(zip(fields[0].names, fields[0].shape, strict=False))
    if len(fields) != 2 or fields[1].kind != "boxes" or not {"height", "width"} <= {*sizes}:
        raise DataError(
            "NNM702",
            f"{dataset.name} has no boxes around the objects of its pictures",
            hint="suggestions are for DetectionDataset; suggest_image_model is for labels",
        )
    rows, columns, depth = fields[1].shape
    classes = fields[1].classes
    filters, layers = FILTERS[0], list[str]()
    for factor in _factorize(sizes["height"] // rows):
        layers.append(f"  patterns(filters={filters}, factor={factor})")
        filters = min(2 * filters, FILTERS[1])
    dilation = 1
    while dilation == 1 or dilation <= min(rows, columns) // VIEW:
        layers.append(f"  around(filters={FILTERS[1]}, dilation={dilation})")
        dilation *= 2
    layers.append(f"  around(filters={FILTERS[1]}, dilation=1, name=seen)")
    return TEXT.format(
        name=name,
        channels=sizes.get("channels", 1),
        height=sizes["height"],
        width=sizes["width"],
        rows=rows,
        columns=columns,
        depth=depth,
        classes=classes,
        shapes=depth - classes,
        rare=RARE,
        layers=",\n".join(layers),
    )


def _factorize(number: int) -> list[int]:
    """Return the prime factors of a number, the smallest first.

    >>> _factorize(12)
    [2, 2, 3]
    """
    factors: list[int] = []
    divisor = 2
    while number > 1:
        if number % divisor:
            divisor += 1
        else:
            factors.append(divisor)
            number //= divisor
    return factors
