"""Trains a model on Iris, tests it, asks it. Knows no page: runs in one, in a worker, anywhere.

Requests and answers are JSON, which crosses to a worker and back unchanged.
"""

import json
import time

from webnnm import IrisDataset, NNModel, WebNNMError

__export__ = ["classify", "pause", "resume", "stop", "train"]

SECONDS_BETWEEN_MESSAGES = 0.1
model = dataset = training = None


class Messages:
    """Pushes log lines and epochs to whoever listens on a channel; without a name, to nobody."""

    def __init__(self, name):
        self.channel = None
        if name:
            from js import BroadcastChannel

            self.channel = BroadcastChannel.new(name)
        self.epochs = []
        self.sent = time.monotonic()

    def send(self, **message):
        """Send a message."""
        if self.channel:
            self.channel.postMessage(json.dumps(message))

    def log(self, text):
        """Send a line for the log."""
        self.send(log=text)

    def epoch(self, record):
        """Send an epoch, together with others if they follow quickly."""
        self.epochs.append([record.epoch, record.loss])
        now = time.monotonic()
        if now - self.sent >= SECONDS_BETWEEN_MESSAGES or record.epoch == record.epochs:
            self.send(epochs=self.epochs)
            self.epochs, self.sent = [], now

    def close(self):
        """Close the channel; what was sent still arrives."""
        if self.channel:
            self.channel.close()


async def train(request):
    """Create a model, train it until the end or `stop`, test it, and return what came out."""
    global model, dataset, training
    wanted = json.loads(request)
    messages = Messages(wanted.get("channel"))
    if model is not None:
        model.close()
        model = None
    try:
        dataset = await IrisDataset.create(standardize=wanted["standardize"])
        model = await NNModel.create(
            source=wanted["source"], dataset=dataset, seed=wanted["seed"], log=messages.log
        )
        training = model.train(wanted["hyperparameters"], on_epoch=messages.epoch)
        history = await training
        result = await model.test()
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
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
            "losses": history.losses,
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
