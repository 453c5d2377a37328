"""Learns classes from a few examples, on features of another network or from nothing.

It knows no page. Examples are float32 numbers as bytes, in the shape that the network takes.
"""

import asyncio
import math
import re

from example_counts import describe_lack

from webnnm import Dataset, NNModel, join_models

CLASSES = re.compile(r"(:output\s+shape=\[)(\d+)(\])")


class UnfitExamples(Exception):
    """Examples that nothing can be learnt from; the text says what is missing."""


class Learner:
    """A model of classes, and what it builds on.

    - `noun`: what an example is, for messages; `basis`: what the learner builds on, for links.
    - `text`: the text of the model that is trained; `default` is the first one.
    - `shape`: the sizes of an example.
    - `trunk`: a model that finds features in an example, of the sizes `features`; None to learn
      from the numbers themselves.
    - `settings`: of the training.

    Attributes: also `backend`; `names` of the classes; `model`, None until one is trained or
    opened; `training`, while one runs.
    """

    def __init__(
        self, noun, basis, backend, text, shape, *, trunk=None, features=None, settings=None
    ):
        self.noun, self.basis, self.backend = noun, basis, backend
        self.text = self.default = text
        self.shape, self.trunk = shape, trunk
        self.features = features if trunk else shape
        self.settings = settings or {}
        self.model, self.joined, self.names = None, None, []
        self.training = None
        # The rows of the last training under other names, until a model has them.
        self.label, self.renamed = None, False
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

    async def train(self, examples, names, text, progress, *, on_epoch=None, **settings):
        """Learn classes from examples: pairs of what `row` returned and the number of its class.

        After each epoch `on_epoch` is awaited, with its record and a function that returns what
        the model says by then, as `shares` does. `settings` are those of the training.

        Raises `UnfitExamples` where there are too few classes or examples, or two classes share a
        name, and what `NNModel` raises for texts.
        """
        counts = [sum(number == index for _, number in examples) for index in range(len(names))]
        if problem := describe_lack(names, counts, 1, self.noun):
            raise UnfitExamples(problem)
        source = with_classes(text, len(names))
        rows = b"".join(row for row, _ in examples)

        def label(names):
            return Dataset(
                to_view(rows, [len(examples), *self.features]),
                [number for _, number in examples],
                labels=names,
                split=(1, 0, 0),
                name="examples",
            )

        model = await NNModel.create(
            source=source, dataset=label(names), backend=self.backend, log=progress.log
        )

        async def judge(sized):
            async with self.turn:
                return dict(zip(names, await self.predict(model, sized), strict=True))

        async def tell(record):
            if on_epoch:
                await on_epoch(record, judge)

        try:
            self.training = model.train(
                seeds=1, progress=progress, on_epoch=tell, **self.settings | settings
            )
            history = await self.training
        except BaseException:
            model.close()
            raise
        finally:
            self.training = None
        async with self.turn:
            self.forget()
            self.model, self.names, self.text = model, list(names), source
            self.label = label
        return history

    def rename(self, names):
        """Call the classes of a model that was trained here something else."""
        self.names, self.renamed = list(names), True

    async def apply_names(self):
        """Write new names of the classes into the model, which is saved with them."""
        async with self.turn:
            if self.renamed:
                self.model.set_dataset(self.label(self.names))
                if self.joined not in (None, self.model):
                    self.joined.close()
                self.joined, self.renamed = None, False

    async def shares(self, sized):
        """Return how probable each class is, by its name.

        `sized` is given the sizes of an example, and returns its numbers.
        """
        async with self.turn:
            shares = await self.predict(self.model or self.joined, sized)
        return dict(zip(self.names, shares, strict=True))

    async def predict(self, model, sized):
        """Return the probabilities of classes; the trunk feeds a model that was trained here."""
        if self.trunk and model is not self.joined:
            numbers = await self.compute_features(sized(self.shape))
        else:
            numbers = sized(shape_of(model))
        (shares,) = (await model.predict(to_view(numbers, [1, *shape_of(model)]))).tolist()
        return shares

    async def open(self, content, log):
        """Take the model of a file that `save` wrote, or of a link: one that the trunk feeds."""
        model = await NNModel.load(content, backend=self.backend, log=log)
        answers = model.state.data_facts().answers
        names = [answer.names for answer in answers.values()]
        sizes = shape_of(model)
        is_head = bool(self.trunk) and sizes == list(self.features)
        fits = is_head or (len(sizes), sizes[0]) == (len(self.shape), self.shape[0])
        if len(names) != 1 or not names[0] or not fits:
            model.close()
            raise UnfitExamples(
                f"This file has no model of this page: no {self.noun}s, or no classes. "
                "Open one that this page saved."
            )
        async with self.turn:
            self.forget()
            self.names = list(names[0])
            if is_head:
                self.model = model
            else:
                self.joined = model

    async def pack(self):
        """Return the model as short as it can be saved: without the trunk, in 16 bits."""
        await self.apply_names()
        return await (self.model or self.joined).save(optimizer=False, dtype="float16")

    async def join(self):
        """Return the model that takes examples: trunk and head as one."""
        await self.apply_names()
        if not self.joined:
            self.joined = await join_models(self.trunk, self.model) if self.trunk else self.model
        return self.joined

    def forget(self):
        """Close the models that were trained or opened."""
        for model in {self.model, self.joined} - {None}:
            model.close()
        self.model = self.joined = self.label = None
        self.names, self.renamed = [], False


def with_classes(text, count):
    """Return the text of a model with so many classes.

    >>> with_classes("m:output shape=[2];", 3)
    'm:output shape=[3];'
    """
    return CLASSES.sub(rf"\g<1>{count}\g<3>", text)


def shape_of(model):
    """Return the sizes of one row of a model's only input."""
    (vertex,) = model.state.network.inputs
    return list(vertex.features[0].dims)


def to_view(numbers, shape):
    """Return float32 numbers, given as bytes, in a shape."""
    return memoryview(numbers).cast("B").cast("f", shape)
