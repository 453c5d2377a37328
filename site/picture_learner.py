"""What learns classes of pictures: a head on EfficientNet-Lite0, or a small network of its own.

It knows no page. Pictures are numbers from 0 to 1, in planes of red, green and blue.
"""

from examples_learner import Learner, shape_of

from webnnm import NNModel, backend

BACKBONE = "efficientnet-lite0.onnx"
PIXELS, PHOTOGRAPHS = "pixels", "efficientnet-lite0"
"""What a learner builds on, as links name it."""
TRUNK = f"""\
backbone:input shape={{channels:3, height:224, width:224}};
backbone:output shape=[1280];
backbone:layers network();
network:source "{BACKBONE}";
"""
HEAD = """\
examples:name examples;
examples:input shape=[1280];
examples:output shape=[2];
examples:layers matmul(w), add(b), softmax();
"""
NETWORK = """\
examples:name examples;
examples:input shape={channels:3, height:32, width:32};
examples:output shape=[2];
examples:layers
  patterns(filters=16), maxPool2d(windowDimensions=2, strides=2),
  patterns(filters=32), maxPool2d(windowDimensions=2, strides=2),
  flatten(), matmul(w), add(b), softmax();
patterns:layers
  conv2d(f, kernel=3, padding=same),
  relu();
"""
HEAD_RATE = 0.005
"""Features are not scaled: with larger steps the head becomes too sure of few examples."""
WORK = 60.0
"""Seconds that NumPy takes for about one training of the small network."""


async def pixel_learner(log):
    """Return a learner on the pixels of pictures."""
    device = await backend("auto", log=log, work=lambda: WORK)
    return Learner("picture", PIXELS, device, NETWORK, [3, 32, 32])


async def photograph_learner(content, device, log):
    """Return a learner on the backbone in an ONNX file."""
    files = {BACKBONE: content}
    trunk = await NNModel.create(source=TRUNK, files=files, backend=device, log=log)
    learner = Learner(
        *("picture", PHOTOGRAPHS, trunk.backend, HEAD, shape_of(trunk)),
        trunk=trunk,
        features=[1280],
        settings={"lr": HEAD_RATE},
    )
    await learner.warm()
    return learner
