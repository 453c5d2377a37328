"""Asks a worker to train, and shows what comes back; the page stays free meanwhile."""

import json
import os

from page import clear_error, element, log, percent, ready, sentence, show_error_text, show_sentence
from pyscript import ffi, when, window, workers

CHANNEL = f"worker {os.urandom(16).hex()}"
EPOCHS = 200
FETCHING = "fetching"
"""Lines of the log that begin so tell how far ONNX Runtime is, which the training waits for."""


def hear(event):
    """Show an epoch that the worker pushed."""
    message = json.loads(event.data)
    if "log" in message:
        log(message["log"])
        if message["log"].startswith(FETCHING):
            element("progress-text").textContent = message["log"]
    if "epochs" not in message:
        return
    epoch, loss, _ = message["epochs"][-1]
    element("progress").value = epoch
    element("progress-text").textContent = f"Epoch {epoch} of {EPOCHS} · loss {loss:.4f}"


@when("submit", "#form")
async def train(event):
    """Have the worker train, and show its result."""
    clear_error()
    element("train").disabled, element("progress").hidden = True, False
    element("result").removeAttribute("data-done")
    request = {
        "source": element("model").textContent,
        "seed": 0,
        "standardize": True,
        "hyperparameters": {"epochs": EPOCHS},
        "channel": CHANNEL,
    }
    answer = json.loads(await trainer.train(json.dumps(request)))
    element("train").disabled = False
    if window.document.activeElement.id in ("", "train"):  # nobody went elsewhere meanwhile
        element("train").focus()
    if "error" in answer:
        show_error_text(answer["error"])
        return
    backend = answer["backend"]
    element("answer").hidden = False
    element("answer").textContent = sentence(
        f"test accuracy {percent(answer['accuracy'], 1)}, "
        f"trained on {backend} in a worker in {answer['seconds']:.2f} s"
    )
    result = element("result")
    result.dataset.accuracy = f"{answer['accuracy']:.4f}"
    result.dataset.backend = backend
    result.dataset.done = ""


channel = window.BroadcastChannel.new(CHANNEL)
channel.onmessage = ffi.create_proxy(hear)
trainer = await workers["trainer"]
ready()
where = await trainer.where("{}")
report = json.loads(where)
show_sentence(report["summary"], report["sentence"])
await trainer.prepare(where)
