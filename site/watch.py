"""What passes through the layers of a model while it is trained, epoch by epoch. Knows no page."""

from webnnm import DataError, NNModel

ROWS = 64
"""Rows that pass through the layers when one looks."""
MAX_LOOKS, MAX_NUMBERS = 24, 1024
"""Epochs that are remembered, and numbers of each tensor in each of them."""


class LayerWatch:
    """Looks at a training that goes on, through a model of its own with the same text.

    `looks` are what `NNModel.inspect` found, thinned, by epoch.
    """

    def __init__(self):
        self.looks, self.observer = {}, None

    def close(self):
        """Free what the observing takes; `looks` stay."""
        if self.observer:
            self.observer.close()
            self.observer = None

    def course(self, inspection):
        """Return the looks by epoch; if there is only one, `inspection`, the model as it is now."""
        return self.looks if len(self.looks) > 1 else {0: inspection}

    async def look(self, training, model, dataset):
        """See how the layers are now, once the steps that are queued have finished."""
        if not training.is_running:
            return
        try:
            now = await training.checkpoint()
        except DataError as error:
            if error.code != "NNM808":
                raise
            return  # the training ended before it could answer
        if not self.observer:
            settings = {"source": model.serialize(), "backend": model.backend}
            self.observer = await NNModel.create(**settings, dataset=dataset, log=unheard)
        for name, values in now.parameters.items():
            self.observer.state.parameters.set(name, values)
        from webnnm import inspect_model

        self.looks[now.epoch] = thin_out(await inspect_model(self.observer, rows=ROWS))
        if len(self.looks) > MAX_LOOKS:
            # Every second one, so that they stay evenly spread, and the last one.
            *some, last = self.looks
            self.looks = {epoch: self.looks[epoch] for epoch in (*some[::2], last)}


def thin_out(inspection):
    """Return an inspection with at most 1,024 numbers of each tensor."""
    from webnnm.trainer.inspection import Inspection

    parts = (
        {name: few(array.values()) for name, array in part.items()}
        for part in (inspection.weights, inspection.activations, inspection.gradients)
    )
    return Inspection(inspection.rows, inspection.loss, *parts)


def few(numbers):
    """Return numbers, or every second, third, … of many."""
    return list(numbers[:: -(-len(numbers) // MAX_NUMBERS) or 1])


def unheard(line):
    """Take what a model says that only looks."""
