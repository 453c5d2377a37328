"""Suggests the text of a model for texts with labels, as a starting point."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.data.texts.labeled import LabeledTextDataset

MODEL = """\
{name}:name {name};
{name}:input int32 shape=[] sequence=true;
{name}:output shape=[{outputs}];
{name}:layers
  bincount(size={size}),
  sqrt(name=counts),
  reduceL2(axes=[-1], keepDimensions=true, name=norm),
  div([counts, norm]),
  mul(3),
  {last};
"""
DENSE = """\
dense:layers
  matmul(w),
  add(b),
  activation();
"""


def suggest_text_model(dataset: LabeledTextDataset, name: str = "model") -> str:
    """Return the text of a model for a dataset of texts with labels.

    >>> from webnnm import LabeledTextDataset
    >>> texts = LabeledTextDataset(["so good", "so bad"] * 9, ["yes", "no"] * 9)
    >>> print(suggest_text_model(texts))
    model:name model;
    model:input int32 shape=[] sequence=true;
    model:output shape=[2];
    model:layers
      bincount(size=5),
      sqrt(name=counts),
      reduceL2(axes=[-1], keepDimensions=true, name=norm),
      div([counts, norm]),
      mul(3),
      dense(shape=[2], activation=softmax);
    dense:layers
      matmul(w),
      add(b),
      activation();
    <BLANKLINE>

    It counts the tokens of a text, in any order, dampens high counts by the square root, divides
    by their norm, so that long and short texts are alike, brings that to 3, so that weight decay
    does not keep rare tokens from being weighed, and weights each token for each class: a linear
    model, as logistic regression of TF-IDF vectors is. It has few parameters for what it
    reads, trains in seconds, and is hard to beat with less than ten thousands of texts. A sum of
    counts along the texts is a product of small matrices on every device, unlike the gradient of an
    embedding. Raises `DataError` NNM702 for another dataset.
    """
    if not hasattr(dataset, "reader"):
        raise DataError(
            "NNM702",
            f"{dataset.name} does not consist of texts",
            hint="LabeledTextDataset(texts, labels) does",
        )
    (field,) = dataset.outputs.values()
    classes = field.classes
    last = f"dense(shape=[{classes}], activation=softmax)" if classes else "matmul(w),\n  add(b)"
    size = dataset.reader.tokenizer.size
    text = MODEL.format(name=name, outputs=classes or 1, size=size, last=last)
    return text + DENSE if classes else text
