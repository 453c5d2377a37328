"""Learns classes from a few examples, on features of another network or from nothing.

It knows no page. Examples are float32 numbers as bytes, in the shape that the network takes.
"""

import asyncio
import math
import re

from webnnm import Dataset, NNModel, join_models

CLASSES = re.compile(r"(:output\s+shape=\[)\d+(\])")


class UnfitExamples(Exception):
    """Examples that nothing can be learnt from; the text says what is missing."""


class Learner:
    """A model of classes, and what it builds on.

    - `noun`: what an example is, for messages.
    - `text`: the text of the model that is trained.
    - `shape`: the sizes of an example.
    - `trunk`: a model that finds features in an example, of the sizes `features`; None to learn
      from the numbers themselves.
    - `settings`: of the training.

    Attributes: also `backend`; `names` of the classes; `model`, None until one is trained or
    opened.
    """

    def __init__(self, noun, backend, text, shape, *, trunk=None, features=None, settings=None):
        self.noun, self.backend, self.text = noun, backend, text
        self.shape, self.trunk = shape, trunk
        self.features = features if trunk else shape
        self.settings = settings or {}
        self.model, self.whole, self.names = None, None, []
        # A model is not closed while it computes.
        self.turn = asyncio.Lock()

    async def warm(self):
        """Compile what examples pass through before anybody waits for it."""
        await self.row(bytes(4 * math.prod(self.shape)))

    async def row(self, example):
        """Return what is learnt of an example: its features, or its numbers."""
        if not self.trunk:
            return example
        async with self.turn:
            return await self.compute_features(example)

    async def compute_features(self, example):
        """Return what the trunk finds in an example."""
        features = await self.trunk.predict(to_view(example, [1, *self.shape]))
        return bytes(memoryview(features).cast("B"))

    async def train(self, examples, names, text, epochs, progress):
        """Learn classes from examples: pairs of what `row` returned and the number of its class.

        Raises `UnfitExamples` where there are too few classes or examples, or two classes share a
        name, and what `NNModel` raises for texts.
        """
        check(examples, names)
        source = CLASSES.sub(rf"\g<1>{len(names)}\2", text)
        rows = b"".join(row for row, _ in examples)
        data = Dataset(
            to_view(rows, [len(examples), *self.features]),
            [number for _, number in examples],
            labels=names,
            split=(1, 0, 0),
            name="examples",
        )
        model = await NNModel.create(
            source=source, dataset=data, backend=self.backend, log=progress.log
        )
        try:
            history = await model.train(epochs=epochs, seeds=1, progress=progress, **self.settings)
        except BaseException:
            model.close()
            raise
        async with self.turn:
            self.forget()
            self.model, self.names, self.text = model, list(names), source
        return history

    async def shares(self, sized):
        """Return how probable each class is, by its name.

        `sized` is given the sizes of an example, and returns its numbers.
        """
        async with self.turn:
            model = self.model or self.whole
            if self.model and self.trunk:
                numbers = await self.compute_features(sized(self.shape))
            else:
                numbers = sized(shape_of(model))
            (shares,) = (await model.predict(to_view(numbers, [1, *shape_of(model)]))).tolist()
            return dict(zip(self.names, shares, strict=True))

    async def open(self, content, log):
        """Take the model of a file that `save` wrote."""
        model = await NNModel.load(content, backend=self.backend, log=log)
        answers = model.state.data_facts().answers
        names = [answer.names for answer in answers.values()]
        sizes = shape_of(model)
        fits = (len(sizes), sizes[0]) == (len(self.shape), self.shape[0])
        if len(names) != 1 or not names[0] or not fits:
            model.close()
            raise UnfitExamples(
                f"This file has no model of this page: no {self.noun}s, or no classes. "
                "Open one that this page saved."
            )
        async with self.turn:
            self.forget()
            self.whole, self.names = model, list(names[0])

    async def join(self):
        """Return the model that takes examples: trunk and head as one."""
        if not self.whole:
            self.whole = await join_models(self.trunk, self.model) if self.trunk else self.model
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
    counts = [sum(number == index for _, number in examples) for index in range(len(names))]
    if 0 in counts:
        name = names[counts.index(0)]
        raise UnfitExamples(f"“{name}” has no examples. Add some, or remove the class.")
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise UnfitExamples(f"Two classes are called “{duplicate}”. Give one of them another name.")


def shape_of(model):
    """Return the sizes of one row of a model's only input."""
    (vertex,) = model.state.network.inputs
    return list(vertex.features[0].dims)


def to_view(numbers, shape):
    """Return float32 numbers, given as bytes, in a shape."""
    return memoryview(numbers).cast("B").cast("f", shape)
