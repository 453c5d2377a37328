"""Suggests the text of a model for sounds, as a starting point."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.data.protocol import AnyDataset

BANDS = 40
WINDOW_SECONDS, HOP_SECONDS = 0.025, 0.02
MAX_FRAMES = 128
"""Longer sounds have frames further apart."""
SMALLEST = 4
"""Spectrograms are halved while they have at least this many frames."""
FILTERS = (8, 16, 32)
MANY_ROWS = 1000
"""From this many training rows, there are twice as many filters."""

TEXT = """\
{name}:name {name};
{name}:input shape=[{length}];
{name}:output shape=[{outputs}];
{name}:layers
  logMel(bands={bands}, window={window}, hop={hop}, rate={rate}),
  reshape({{channels:1, height:{frames}, width:{bands}}}),
  meanVarianceNormalization(axes=[0, 1, 2]),
{layers};
patterns:layers
  conv2d(f, filters=filters, kernel=3, padding=same),
  batchNorm(scale=s, bias=c),
  relu(),
  maxPool2d(windowDimensions=2, strides=2);
"""


def suggest_sound_model(dataset: AnyDataset, name: str = "model") -> str:
    """Return the text of a small convolutional network for a dataset of sounds.

    >>> from webnnm import SoundDataset
    >>> sounds = SoundDataset([[0.1] * 8000, [0.2] * 8000], ["a", "b"], rate=8000, split=(1, 0, 0))
    >>> print(suggest_sound_model(sounds, "words"))
    words:name words;
    words:input shape=[8000];
    words:output shape=[2];
    words:layers
      logMel(bands=40, window=200, hop=160, rate=8000),
      reshape({channels:1, height:50, width:40}),
      meanVarianceNormalization(axes=[0, 1, 2]),
      patterns(filters=8),
      patterns(filters=16),
      patterns(filters=32),
      reduceMax(axes=[height]),
      flatten(),
      dropout(p=0.25),
      matmul(w), add(b), softmax();
    patterns:layers
      conv2d(f, filters=filters, kernel=3, padding=same),
      batchNorm(scale=s, bias=c),
      relu(),
      maxPool2d(windowDimensions=2, strides=2);
    <BLANKLINE>

    What is learnt is how strong patterns become, whenever that is, in the power of a few dozen mel
    bands; how loud a sound is as a whole does not count. Models of classes end in softmax, of
    several labels per sound in sigmoid, of quantities in a layer without activation. Raises
    `DataError` NNM702 for datasets that are not sounds with one output, or shorter than 0.1 s.
    """
    fields = [*dataset.inputs.values(), *dataset.outputs.values()]
    rate: int = getattr(dataset, "rate", 0)
    length = fields[0].shape[0] if fields[0].shape else 0
    if len(fields) != 2 or not rate or len(fields[1].shape) > 1 or length < rate / 10:
        shapes = ", ".join(str([*field.shape]) for field in fields)
        raise DataError(
            "NNM702",
            f"{dataset.name} has inputs and outputs {shapes}",
            hint="suggestions are for SoundDataset: one input of at least 0.1 s, one output",
        )
    target = fields[1]
    window = 2 * round(rate * WINDOW_SECONDS / 2)
    hop = max(round(rate * HOP_SECONDS), -(-length // MAX_FRAMES))
    frames, layers, side = length // hop, list[str](), length // hop
    times = 1 + (dataset.size("training") >= MANY_ROWS)
    for filters in FILTERS:
        if side >= SMALLEST:
            layers.append(f"  patterns(filters={times * filters})")
            side //= 2
    activation = {"multilabel": ", sigmoid()", "continuous": ""}.get(target.kind, ", softmax()")
    layers += ["  reduceMax(axes=[height])", "  flatten()", "  dropout(p=0.25)"]
    return TEXT.format(
        name=name,
        length=length,
        outputs=target.classes if target.kind == "classes" else (target.shape or (1,))[0],
        bands=BANDS,
        window=window,
        hop=hop,
        rate=rate,
        frames=frames,
        layers=",\n".join((*layers, f"  matmul(w), add(b){activation}")),
    )
