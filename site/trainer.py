"""Trains a model on Iris, tests it, asks it. Knows no page: runs in one, in a worker, anywhere.

Requests and answers are JSON, which crosses to a worker and back unchanged.
"""

import json

from webnnm import IrisDataset, NNModel, WebNNMError

__export__ = ["classify", "pause", "prepare", "resume", "stop", "train"]

SPLITS = {False: (0.7, 0, 0.3), True: (0.7, 0.15, 0.15)}
model = dataset = training = None


class Messages:
    """Pushes what a training tells to whoever listens on a channel; without a name, to nobody.

    It shows the progress of the training as `webnnm.progress` has it: `update` is called every 0.1
    seconds at most. Notes reach the log anyway, and the answer of `train` tells how it ended.
    """

    def __init__(self, name):
        self.channel = None
        if name:
            from js import BroadcastChannel

            self.channel = BroadcastChannel.new(name)
        self.epochs = []
        self.reviewed = False

    def send(self, **message):
        """Send a message."""
        if self.channel:
            self.channel.postMessage(json.dumps(message))

    def log(self, text):
        """Send a line for the log."""
        self.send(log=text)

    def epoch(self, record):
        """Keep an epoch for the next message."""
        self.epochs.append([record.epoch, record.loss, record.val_loss])

    def begin(self, *_):
        """Nothing yet."""

    note = end = begin

    def update(self, record, eta_seconds):
        """Send the epochs since the last message; with the first ones, what the review found."""
        if not self.reviewed:
            self.reviewed = True
            self.send(review=review_of(training.history))
        self.epoch(record)
        self.send(epochs=self.epochs, left=eta_seconds, metrics=record.val_metrics)
        self.epochs = []

    def close(self):
        """Close the channel; what was sent still arrives."""
        if self.channel:
            self.channel.close()


def review_of(history):
    """Return findings, scouting, and every setting with its value and origin."""
    told = history.to_dict()
    settings = dict(told["settings"])
    settings |= {f"{name}:loss": loss["loss"] for name, loss in told["loss_settings"].items()}
    origins = told["chosen"]
    scouting = told["scouting"]
    if scouting:
        tried = scouting["candidates"]
        scouting = {"starts": len(tried), **tried[scouting["best"]]}
    return {
        "findings": told["findings"],
        "scouting": scouting,
        "settings": [
            [name, value, origins[name]]
            for name, value in settings.items()
            if value not in (None, []) and name in origins and name != "progress"
        ],
    }


async def prepare():
    """Import what the first training takes, before anybody waits for it."""
    import webnnm.backends.webnn
    import webnnm.reviewing
    import webnnm.session
    import webnnm.testing  # noqa: F401


async def train(request):
    """Create a model, train it until the end or `stop`, test it, and return what came out."""
    global model, dataset, training
    wanted = json.loads(request)
    messages = Messages(wanted.get("channel"))
    if model is not None:
        model.close()
        model = None
    try:
        split = SPLITS[wanted.get("validate", False)]
        dataset = await IrisDataset.create(standardize=wanted["standardize"], split=split)
        model = await NNModel.create(
            source=wanted["source"], dataset=dataset, seed=wanted["seed"], log=messages.log
        )
        training = model.train(
            wanted["hyperparameters"], on_epoch=messages.epoch, progress=messages
        )
        history = await training
        result = await model.test()
    except WebNNMError as error:
        # What stopped a training is a finding, too.
        review = review_of(training.history) if training else None
        return json.dumps({"error": str(error), "review": review})
    finally:
        training = None
        messages.close()
    return json.dumps(
        {
            "accuracy": result.accuracy,
            "loss": result.loss,
            "samples": result.samples,
            "labels": result.labels,
            "counts": result.counts,
            "precision": result.precision,
            "recall": result.recall,
            "f1": result.f1,
            "support": result.support,
            "epochs": [[r.epoch, r.loss, r.val_loss] for r in history.epochs],
            "review": review_of(history),
            "best_epoch": history.best_epoch,
            "seconds": history.seconds,
            "stopped": history.stopped,
            "backend": model.backend.name,
            "device": model.backend.device,
            "summary": model.summary(),
        }
    )


async def pause():
    """Hold the training."""
    if training:
        training.pause()


async def resume():
    """Go on with it."""
    if training:
        training.resume()


async def stop():
    """End the training early; `train` then returns with the best parameters."""
    if training:
        await training.stop()


async def classify(request):
    """Return the probability of each class for four measurements in centimetres."""
    flower = json.loads(request)["flower"]
    try:
        (shares,) = (await model.predict([flower], raw=True)).tolist()
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    return json.dumps({"shares": dict(zip(dataset.labels(), shares, strict=True))})
