"""Learns classes of pictures from a few examples, on features of a trained network or from nothing.

It knows no page. Pictures are float32 numbers as bytes, from 0 to 1, in planes of red, green and
blue.
"""

import asyncio
import math
import re
from pathlib import Path

from webnnm import Dataset, NNModel, concatenate
from webnnm.snapshots import storage

BACKBONE = "efficientnet-lite0.onnx"
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
CLASSES = re.compile(r"(:output\s+shape=\[)\d+(\])")
EXPORT = "/tmp/examples.onnx"


class UnfitExamples(Exception):
    """Examples that nothing can be learnt from; the text says what is missing."""


class Learner:
    """A model of classes, and what it builds on.

    Attributes: `backend`; `text`, the text of the model that is trained; `names` of the classes;
    `model`, None until one is trained or opened.
    """

    def __init__(self, backend, trunk=None):
        self.backend, self.trunk = backend, trunk
        self.text = HEAD if trunk else NETWORK
        self.model, self.whole, self.names = None, None, []
        # A model is not closed while it computes.
        self.turn = asyncio.Lock()

    @classmethod
    async def create(cls, contents, backend, log):
        """Return a learner on the backbone in a file of ONNX, or without one on pixels."""
        if not contents:
            return cls(backend)
        files = {BACKBONE: contents[0]}
        trunk = await NNModel.create(source=TRUNK, files=files, backend=backend, log=log)
        learner = cls(trunk.backend, trunk)
        # Compiled before anybody waits for it.
        await learner.row(bytes(4 * math.prod(shape_of(trunk))))
        return learner

    @property
    def side(self):
        """The width and height of pictures that examples are made of."""
        return shape_of(self.trunk)[-1] if self.trunk else 32

    async def row(self, picture):
        """Return what is learnt of a picture: its features, or its pixels."""
        if not self.trunk:
            return picture
        async with self.turn:
            return await self.features(picture)

    async def features(self, picture):
        """Return what the backbone finds in a picture."""
        found = await self.trunk.predict(shaped(picture, [1, *shape_of(self.trunk)]))
        return bytes(memoryview(found).cast("B"))

    async def train(self, examples, names, text, epochs, progress):
        """Learn classes from examples: pairs of what `row` returned and the number of its class.

        Raises `UnfitExamples` where there are too few classes or examples, or two classes share a
        name, and what `NNModel` raises for texts.
        """
        check(examples, names)
        source = CLASSES.sub(rf"\g<1>{len(names)}\2", text)
        rows = b"".join(row for row, _ in examples)
        size = [1280] if self.trunk else [3, self.side, self.side]
        data = Dataset(
            shaped(rows, [len(examples), *size]),
            [number for _, number in examples],
            labels=names,
            split=(1, 0, 0),
            name="examples",
        )
        model = await NNModel.create(
            source=source, dataset=data, backend=self.backend, log=progress.log
        )
        try:
            given = {"lr": HEAD_RATE} if self.trunk else {}
            history = await model.train(epochs=epochs, seeds=1, progress=progress, **given)
        except BaseException:
            model.close()
            raise
        async with self.turn:
            self.forget()
            self.model, self.names, self.text = model, list(names), source
        return history

    async def shares(self, sized):
        """Return how probable each class is, by its name; `sized(side)` returns the picture."""
        async with self.turn:
            model = self.model or self.whole
            if self.model and self.trunk:
                numbers = await self.features(sized(self.side))
            else:
                numbers = sized(shape_of(model)[-1])
            (found,) = (await model.predict(shaped(numbers, [1, *shape_of(model)]))).tolist()
            return dict(zip(self.names, found, strict=True))

    async def save(self, place):
        """Save the model with its backbone and the names of its classes."""
        await storage.store(place, [await (await self.joined()).save()])

    async def export(self, place):
        """Save the model with its backbone as a file of ONNX."""
        file = (await self.joined()).export_onnx(EXPORT, batch=1)
        await storage.store(place, [Path(file).read_bytes()])
        Path(file).unlink()

    async def open(self, content, log):
        """Take the model of a file that `save` wrote."""
        found = await NNModel.load(content, backend=self.backend, log=log)
        answers = found.state.known_data().answers
        names = [each.names for each in answers.values()]
        if len(names) != 1 or not names[0] or len(shape_of(found)) != 3:
            found.close()
            raise UnfitExamples("This file has no model of this page: no pictures, or no classes.")
        async with self.turn:
            self.forget()
            self.whole, self.names = found, list(names[0])

    async def joined(self):
        """Return the model that takes pictures: backbone and head as one."""
        if not self.whole:
            self.whole = await concatenate(self.trunk, self.model) if self.trunk else self.model
        return self.whole

    def forget(self):
        """Close the models that were trained or opened."""
        for model in {self.model, self.whole} - {None}:
            model.close()
        self.model = self.whole = None


def check(examples, names):
    """Refuse examples that nothing can be learnt from."""
    if len(names) < 2:
        raise UnfitExamples("There is one class. Add another: a model tells classes apart.")
    counts = [sum(number == each for _, number in examples) for each in range(len(names))]
    if 0 in counts:
        name = names[counts.index(0)]
        raise UnfitExamples(f"“{name}” has no examples. Add some, or remove the class.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UnfitExamples(f"Two classes are called “{twice}”. Give one of them another name.")


def shape_of(model):
    """Return the sizes of one row of a model's only input."""
    (vertex,) = model.network.inputs
    return list(vertex.features[0].dims)


def shaped(numbers, shape):
    """Return float32 numbers, given as bytes, in a shape."""
    return memoryview(numbers).cast("B").cast("f", shape)
