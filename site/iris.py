"""The Iris page: reads the form, shows progress and result. trainer.py does the work."""

import json
from uuid import uuid4

import findings
import page
from page import element, make, table
from pyscript import create_named_worker, ffi, when, window
from pyscript.js_modules import chart

ENDINGS = {"epochs": "finished", "stop": "stopped by you", "patience": "no longer improving"}
CHANNEL = f"iris {uuid4()}"
in_worker = window.URLSearchParams.new(window.location.search).has("worker")
training = False


async def call(function, **request):
    """Call a function of trainer.py, in the page or in the worker, and return its answer."""
    answer = json.loads(await function(json.dumps(request)))
    if "error" in answer:
        if answer.get("review"):
            findings.show(answer["review"], editor)
        raise RuntimeError(answer["error"])
    return answer


@when("submit", "#form")
async def train(event):
    """Train on what the form says until the end or Stop, then show the result."""
    global epochs
    if training:
        return
    epochs = int(element("epochs").value)
    hyperparameters = {"epochs": epochs, "optimizer": element("optimizer").value}
    if element("lr").value:
        hyperparameters["lr"] = float(element("lr").value)
    begin()
    try:
        result = await call(
            trainer.train,
            source=editor.text,
            seed=int(element("seed").value or 0),
            standardize=element("standardize").checked,
            validate=element("validate").checked,
            hyperparameters=hyperparameters,
            channel=CHANNEL,
        )
        show(result)
    except RuntimeError as error:
        page.show_error_text(str(error))
        element("progress-text").textContent = "No result"
    except Exception as error:
        page.show_error(error)
    finally:
        end()


def begin():
    """Set the page up for a training."""
    global training
    training = True
    page.clear_error()
    page.log(f"training {'in a worker' if in_worker else 'in the page'}")
    chart.reset(epochs)
    element("progress").max, element("progress").value = epochs, 0
    element("progress-text").textContent = "Reviewing the model, looking for a good start …"
    element("result").removeAttribute("data-done")
    element("result").hidden = element("review").hidden = element("try").disabled = True
    announce("Training has begun.")


def allow_stop():
    """Hand over from Train to Stop and Pause; the focus goes with it."""
    element("stop").disabled = element("pause").disabled = False
    if window.document.activeElement.id == "train":
        element("stop").focus()
    element("train").disabled = True


def end():
    """Give the page back to the reader."""
    global training
    training = False
    element("train").disabled = False
    if window.document.activeElement.id in ("stop", "pause"):
        element("train").focus()
    element("stop").disabled = element("pause").disabled = True
    element("pause").textContent = "Pause"


def announce(text):
    """Have screen readers say how things stand; called now and then only."""
    element("status").textContent = text


def hear(event):
    """Show what the trainer tells: a line for the log, or epochs."""
    message = json.loads(event.data)
    if "log" in message:
        page.log(message["log"])
    elif not training:
        return
    elif "review" in message:
        findings.show(message["review"], editor)
        announce(f"The review found: {element('review-summary').textContent}")
    else:
        if element("stop").disabled:
            allow_stop()
        chart.add(json.dumps(message["epochs"]))
        progress(*message["epochs"][-1], message["metrics"], message["left"])


def progress(epoch, loss, val_loss, metrics, left):
    """Show how far the training is, and how many seconds it is expected to take yet."""
    bar = element("progress")
    quarters_before, bar.value = 4 * int(bar.value) // epochs, epoch
    numbers = {"loss": loss} | ({} if val_loss is None else {"validation": val_loss}) | metrics
    told = [f"{name} {value:.4f}" for name, value in numbers.items()]
    told += [f"{left:.0f} s left"] if left is not None and epoch < epochs else []
    element("progress-text").textContent = " · ".join([f"Epoch {epoch} of {epochs}", *told])
    state = json.dumps({"epoch": epoch, "epochs": epochs, "loss": loss, "val_loss": val_loss})
    window.console.log(f"webnnm:progress {state}")
    if 4 * epoch // epochs > quarters_before:
        announce(f"Epoch {epoch} of {epochs}, loss {loss:.3f}.")


def show(result):
    """Show the test result, and open the form that asks the trained model."""
    backend = page.where(result["backend"], result["device"])
    records, labels = result["epochs"], result["labels"]
    done = len(records)
    chart.add(json.dumps(records))
    findings.show(result["review"], editor)
    if done:
        element("progress").value = done
        _, last, val_loss = records[-1]
        how = ENDINGS.get(result["stopped"], result["stopped"])
        told = f"loss {last:.4f}" + ("" if val_loss is None else f" · validation {val_loss:.4f}")
        element("progress-text").textContent = f"Epoch {done} of {epochs} · {told} · {how}"
        words = f"Training loss from {records[0][1]:.3f} to {last:.3f} in {done} epochs"
        words += "" if val_loss is None else f", validation loss {val_loss:.3f} at the end"
        chart.describe(words)
    accuracy = f"{100 * result['accuracy']:.1f} %"
    element("accuracy").textContent = accuracy
    element("samples").textContent = f"of {result['samples']} flowers that training never saw"
    element("backend").textContent = (
        f"Trained {done} epochs on {backend}, {'in a worker' if in_worker else 'in the page'}, "
        f"in {result['seconds']:.2f} s. Kept: the parameters of epoch {result['best_epoch']}."
    )
    counts = [[label, *row] for label, row in zip(labels, result["counts"], strict=True)]
    caption = "Confusion matrix: species in rows, what they were taken for in columns"
    confusion = table(caption, ["Species", *labels], counts)
    shade(confusion, result["counts"])
    columns = [result[name] for name in ("precision", "recall", "f1")]
    scores = [
        [label, *(f"{score:.3f}" for score in three), total]
        for label, *three, total in zip(labels, *columns, result["support"], strict=True)
    ]
    header = ["Species", "Precision", "Recall", "F1", "Flowers"]
    element("tables").replaceChildren(confusion, table("Scores of each species", header, scores))
    element("summary").textContent = result["summary"]
    shown = element("result")
    shown.dataset.accuracy = f"{result['accuracy']:.4f}"
    shown.dataset.backend = backend
    shown.dataset.seconds = f"{result['seconds']:.2f}"
    shown.hidden = element("try").disabled = False
    shown.dataset.done = ""
    page.log(f"test accuracy {accuracy}, {backend}")
    announce(f"Training has ended. Test accuracy {accuracy}, on {backend}.")


def shade(confusion, counts):
    """Colour the cells of a confusion matrix by their share of the row."""
    cells = confusion.querySelectorAll("td")
    shares = [number / max(sum(row), 1) for row in counts for number in row]
    for cell, share in zip(cells, shares, strict=True):
        cell.style.setProperty("--share", f"{share:.2f}")
    confusion.classList.add("confusion")


@when("submit", "#ask")
async def classify(event):
    """Ask the trained model for the species of one flower."""
    page.clear_error()
    try:
        names = ("sepal-length", "sepal-width", "petal-length", "petal-width")
        flower = [float(element(name).value) for name in names]
        shares = (await call(trainer.classify, flower=flower))["shares"]
    except RuntimeError as error:
        page.show_error_text(str(error))
        return
    except Exception as error:
        page.show_error(error)
        return
    best = max(shares, key=shares.get)
    element("species").textContent = f"{best} ({100 * shares[best]:.1f} %)"
    bars = []
    for label, share in shares.items():
        bar, value = make("div", class_="bar"), make("dd")
        bar.style.setProperty("--share", f"{share:.4f}")
        value.append(bar, f"{100 * share:.1f} %")
        bars += [make("dt", label), value]
    element("shares").replaceChildren(*bars)


@when("click", "#stop")
async def on_stop(event):
    """End the training after the present chunk; `train` then shows the result."""
    element("progress-text").textContent = "Stopping …"
    await trainer.stop()


@when("click", "#pause")
async def on_pause(event):
    """Hold the training, or go on."""
    button = element("pause")
    held = button.textContent == "Pause"
    button.textContent = "Resume" if held else "Pause"
    announce("Paused." if held else "Training goes on.")
    await (trainer.pause() if held else trainer.resume())


editor = page.Editor()
channel = window.BroadcastChannel.new(CHANNEL)
channel.onmessage = ffi.create_proxy(hear)
if in_worker:
    trainer = await create_named_worker("./trainer.py", "trainer", "./trainer.json")
else:
    import trainer
page.ready()
await trainer.prepare()
