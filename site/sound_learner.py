"""What learns classes of sounds: a small network on the power of a second of sound in mel bands.

It knows no page. Sounds are samples from −1 to 1, one channel of 16 kHz. A model that is
saved takes them as they are: the mel bands are a part of it.
"""

from examples_learner import Learner

from webnnm import NNModel, backend
from webnnm.ops.declare.mel import mel_filters, waves

SOUNDS = "sounds"
"""What the learner builds on, as links name it."""
RATE = 16_000
"""Samples in a second, which is how long an example is."""
FRAMES, BANDS = 50, 40
TRUNK = """\
ears:input shape=[16000];
ears:output shape={channels:1, height:50, width:40};
ears:layers
  reshape({length:16000, channels:1}),
  conv1d(waves, filters=402, kernel=400, strides=320, padding=[40, 40], trainable=false),
  pow(2), matmul(bands, shape=[50, 40], trainable=false),
  max(1e-7), log(), mul(0.4343, name=levels),
  reduceMean(axes=[0, 1], keepDimensions=true, name=middle),
  sub(middle, node=levels),
  reshape({channels:1, height:50, width:40});
"""
"""Powers of ten in each band, 50 times a second, as far as they differ from the mean: how loud a
sound is as a whole does not count."""
NETWORK = """\
sounds:name sounds;
sounds:input shape={channels:1, height:50, width:40};
sounds:output shape=[2];
sounds:layers
  patterns(filters=8), maxPool2d(windowDimensions=2, strides=2),
  patterns(filters=16), maxPool2d(windowDimensions=2, strides=2),
  reduceMax(axes=[height]),
  flatten(), matmul(w), add(b), softmax();
patterns:layers
  conv2d(f, kernel=3, padding=same),
  relu();
"""
"""What is learnt of patterns is how strong they become, not when: sounds begin at any time."""
WORK = 60.0
"""Seconds that NumPy takes for about one training."""
SHIFTS = (0, -3200, -1600, 1600, 3200)
"""Samples by which each example is moved as well, and learnt from anew."""


async def sound_learner(log):
    """Return a learner of sounds."""
    device = await backend("auto", log=log, work=lambda: WORK)
    trunk = await NNModel.create(source=TRUNK, backend=device, log=log)
    await trunk.load_params({"waves1": filters(), "bands1": bands()})
    learner = Learner(
        *("sound", SOUNDS, device, NETWORK, [RATE]),
        trunk=trunk,
        features=[1, FRAMES, BANDS],
    )
    await learner.warm()
    return learner


def filters():
    """Return windowed cosines and sines as filters, `[402, 1, 400]`."""
    values, (size, count) = memoryview(waves().data).cast("B").cast("f"), waves().shape
    turned = b"".join(values[number::count].tobytes() for number in range(count))
    return memoryview(turned).cast("f", [count, 1, size])


def bands():
    """Return what the squares of cosines and of sines count in each band, `[402, 40]`."""
    one = mel_filters(BANDS)
    return memoryview(2 * bytes(one.data)).cast("f", [2 * one.shape[0], BANDS])


def shift(samples):
    """Return a second of sound, and the same a little earlier and later.

    What leaves it at one end comes in at the other.
    """
    return [samples[4 * by :] + samples[: 4 * by] for by in SHIFTS]
