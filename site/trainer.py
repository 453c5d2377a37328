"""Trains a model, tests it, asks it, keeps it. Knows no page: runs in one, in a worker, anywhere.

Requests and answers are JSON, which crosses to a worker and back unchanged. A request names its
`data`, "iris" unless it says otherwise.
"""

import asyncio
import contextlib
import importlib
import json
from array import array

from webnnm import (
    BackendError,
    DataError,
    Dataset,
    IrisDataset,
    NNModel,
    WebNNMError,
    backend,
    probe,
)

try:
    from webnnm.page_modules import load_rest
except ImportError:  # a desktop has all modules

    async def load_rest():
        """Do nothing."""


__export__ = [
    "claim",
    "classify",
    "closer",
    "discard",
    "examples",
    "fetch",
    "find_kept",
    "keep",
    "load",
    "mistakes",
    "pause",
    "prepare",
    "release",
    "resume",
    "save",
    "stop",
    "train",
    "where",
]

SPLITS = {False: (0.7, 0, 0.3), True: (0.7, 0.15, 0.15)}
AUTOSAVE_SECONDS = 10
MAX_MISTAKES = 24
"""Rows that were taken for another class, which are shown."""
SIDE, BLACK = 8, 16
"""Pixels of a digit's picture in each direction, and the number that is black."""
model = dataset = training = storage_path = history = tested = watch = None
pictures = {}
SOON = (
    "trainer.training",
    "trainer.double_buffer",
    "trainer.scout",
    "trainer.outcome",
    "training.step",
    "data.preparation.quality",
    "training.clipping",
    "training.probe_step",
    "evaluation.compare",
    "evaluation.classification_report",
    "expert.facts.learning",
    "expert.rules.settings",
    "model.report",
    *(f"expert.rules.{name}" for name in ("course", "generalisation", "learning", "units")),
    "runtime.testing.evaluator",
    "snapshots.snapshot",
)
"""Modules of webnnm that a training, its test and its keeping need, not the start of a page."""


class Messages:
    """Pushes what a training tells to whoever listens on a channel; without a name, to nobody.

    It shows the progress of the training as `webnnm.trainer.progress` has it: `update` is called
    every 0.1 seconds at most. Notes reach the log anyway, and the answer of `train` tells how it
    ended.
    """

    def __init__(self, name):
        self.channel = None
        if name:
            from js import BroadcastChannel

            self.channel = BroadcastChannel.new(name)
        self.reported = 0

    def send(self, **message):
        """Send a message."""
        if self.channel:
            self.channel.postMessage(json.dumps(message))

    def log(self, text):
        """Send a line for the log."""
        self.send(log=text)

    def begin(self, *_):
        """Nothing yet."""

    note = end = begin

    def update(self, record, eta_seconds):
        """Send the epochs since the last message; with the first ones, what the review found."""
        if not self.reported:
            self.send(review=review_of(training.history))
        epochs = curve(training.history.epochs[self.reported :])
        self.reported += len(epochs)
        self.send(epochs=epochs, left=eta_seconds, metrics=record.val_metrics)

    def on_saved(self, failure):
        """Report that the browser keeps the training as it is now, or why it does not."""
        self.send(kept="" if failure is None else reason_of(failure))

    def close(self):
        """Close the channel; what was sent still arrives."""
        if self.channel:
            self.channel.close()


def reason_of(error):
    """Return what went wrong, and what to do, as sentences."""
    texts = getattr(error, "message", str(error)), getattr(error, "hint", "")
    return " ".join(f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in texts if text)


def review_of(history):
    """Return findings, scouting, and every setting with its value and origin."""
    record = history.to_dict()
    settings = dict(record["settings"])
    settings |= {f"{name}:loss": loss["loss"] for name, loss in record["loss_settings"].items()}
    origins = record["chosen"]
    scouting = record["scouting"]
    if scouting:
        tried = scouting["candidates"]
        scouting = {"starts": len(tried), **tried[scouting["best"]]}
    return {
        "findings": record["findings"],
        "ended": bool(history.stopped),
        "scouting": scouting,
        "settings": [
            [name, value, origins[name]]
            for name, value in settings.items()
            if value not in (None, []) and name in origins and name != "progress"
        ],
    }


def curve(records):
    """Return what the chart shows of epochs."""
    return [[record.epoch, record.loss, record.val_loss] for record in records]


async def prepare(request):
    """Do while nobody waits what the first training would wait for, a piece in each turn.

    Modules are imported; ONNX Runtime is started where it is "kept", as `where` found.
    """
    await load_rest()
    for name in SOON:
        importlib.import_module(f"webnnm.{name}")
        await asyncio.sleep(0)
    if json.loads(request).get("kept"):
        # Where it does not start, models run on NumPy, and a training says why.
        with contextlib.suppress(BackendError):
            await rehearse()
    return json.dumps({})


async def rehearse():
    """Train a little on ONNX Runtime: modules are imported, and its WebAssembly is compiled."""
    data = Dataset([[0.0], [1.0]] * 8, [0, 1] * 8, split=(1, 0, 0))
    text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), relu(), softmax();"
    quiet = {"backend": "onnxruntime", "log": lambda line: None}
    async with await NNModel.create(source=text, dataset=data, **quiet) as small:
        await small.train(epochs=30, batch_size=4, progress=None)


async def where(request):
    """Return what will run models here, and the bytes that would make it faster.

    "sentence" says it exactly, "summary" to visitors; "kept" tells whether that is
    ONNX Runtime, which is there already.
    """
    await load_rest()
    report, size = await probe(trials=False), None
    if not report.webnn:
        from webnnm.backends.onnxruntime_web import to_fetch

        size = await to_fetch("wasm")
    said = {"sentence": report.sentence, "summary": report.summary}
    return json.dumps({**said, "bytes": size or 0, "kept": size == 0})


async def fetch(request):
    """Fetch ONNX Runtime, which the browser keeps for all models from then on."""
    listener = Messages(json.loads(request).get("channel"))
    try:
        (await backend("onnxruntime", log=listener.log)).close()
        await rehearse()
        return json.dumps({})
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    finally:
        listener.close()


async def iris(options, split):
    """Return the flowers, standardised where that is wanted."""
    return await IrisDataset.create(standardize=options["standardize"], split=split)


async def digits(options, split):
    """Return the handwritten digits that lie at the request's `url`: a table packed by gzip."""
    from webnnm import ImageDataset

    url = options["url"]
    if url not in pictures:
        import gzip

        lines = gzip.decompress(await fetch_bytes(url)).decode().splitlines()[1:]
        pictures[url] = [bytes(map(int, line.split(","))) for line in lines]
    rows = pictures[url]
    return ImageDataset(
        b"".join(row[:-1] for row in rows),
        [row[-1] for row in rows],
        shape=(1, SIDE, SIDE),
        white=BLACK,
        class_names=[str(digit) for digit in range(10)],
        name="digits",
        split=split,
    )


DATA = {"iris": iris, "digits": digits}


async def fetch_bytes(url):
    """Return the bytes that lie at an address."""
    from js import fetch

    answer = await fetch(url)
    if not answer.ok:
        raise DataError("NNM715", f"{url} cannot be read: status {answer.status}")
    return (await answer.arrayBuffer()).to_bytes()


async def dataset_of(options):
    """Return the dataset that a request names."""
    return await DATA[options.get("data", "iris")](options, SPLITS[options.get("validate", False)])


async def open_model(source, options, log):
    """Return the model of a snapshot with the data of a request, standardised as they were."""
    await load_rest()
    loaded = await NNModel.load(source, log=log)
    try:
        data = await dataset_of(options | {"standardize": bool(loaded.state.data_facts().inputs)})
        loaded.set_dataset(data)
    except BaseException:
        loaded.close()
        raise
    return loaded, data


async def create_model(options, log):
    """Return a new model with the data of a request."""
    await load_rest()
    data = await dataset_of(options)
    settings = {"source": options["source"], "seed": options["seed"]}
    return await NNModel.create(**settings, dataset=data, log=log), data


def take(pair):
    """Continue with another model and its data."""
    global model, dataset, watch
    if watch is not None:
        watch.close()
        watch = None
    if model is not None:
        model.close()
    model, dataset = pair


async def train(request):
    """Create a model, train it until the end or `stop`, test it, and return what came out.

    With `keep`, a name that was claimed, the browser keeps the training under that name until it
    ends by itself; with `resume` the kept training is resumed.
    """
    global training, storage_path, history, tested
    options = json.loads(request)
    messages = Messages(options.get("channel"))
    begun = history = tested = None
    try:
        storage_path = get_storage_path(options) if options.get("keep") else None
        go_on = options.get("resume", False)
        take((None, None))
        take(
            await (
                open_model(storage_path, options, messages.log)
                if go_on
                else create_model(options, messages.log)
            )
        )
        begun = training = model.train(
            {} if go_on else options["hyperparameters"],
            resume=go_on,
            autosave=storage_path,
            autosave_seconds=AUTOSAVE_SECONDS,
            on_autosave=messages.on_saved,
            progress=messages,
        )
        history = await wait_for_end(messages.log)
        return json.dumps(await result())
    except WebNNMError as error:
        # What stopped a training is a finding, too.
        review = review_of(begun.history) if begun else None
        return json.dumps({"error": str(error), "review": review})
    finally:
        training = None
        if storage_path:
            from webnnm.snapshots import storage

            await storage.release(storage_path)
        messages.close()


async def wait_for_end(log):
    """Wait for the end of the training and return its history; a finished one is kept no longer.

    A browser that keeps nothing leaves the training as it is.
    """
    begun = training
    try:
        await begun
    except DataError as error:
        if error.code != "NNM807":
            raise
        log(str(error))
    if storage_path and begun.history.stopped != "stop":
        from webnnm.snapshots import storage

        try:
            await storage.discard(storage_path)
        except DataError as error:
            log(str(error))
    return begun.history


async def result():
    """Return how the model does in its test, and the course of its training."""
    from webnnm.model.report import parameter_count

    global tested
    tested = await model.test()
    answer = {
        "accuracy": tested.accuracy,
        "loss": tested.loss,
        "samples": tested.samples,
        "labels": tested.labels,
        "counts": tested.counts,
        "precision": tested.precision,
        "recall": tested.recall,
        "f1": tested.f1,
        "support": tested.support,
        "verdicts": [baselines.verdict for baselines in tested.baselines.values()],
        "backend": model.backend.description,
        "why": model.backend.reason,
        "rewrites": model.backend.rewrites,
        "summary": model.summary(),
        "parameters": parameter_count(model.state.network).partition(", ")[0],
    }
    if history is not None:
        answer |= {
            "epochs": curve(history.epochs),
            "learnt": dataset.size("training"),
            "finished": history.finished,
            "review": review_of(history),
            "best_epoch": history.best_epoch,
            "seconds": history.seconds,
            "stopped": history.stopped,
        }
    return answer


def get_storage_path(options):
    """Return where the browser keeps the training of a request."""
    return f"browser:{options['keep']}"


async def keep():
    """Keep the training now, as before the page goes: a worker does not see that by itself."""
    if training and storage_path:
        try:
            await model.save(storage_path)
        except DataError as error:
            if error.code != "NNM808":  # the training has just ended
                model.log(f"autosave: {error}")


async def claim(request):
    """Keep other tabs from the training that the browser keeps; return why that cannot be."""
    from webnnm.snapshots import storage

    try:
        await storage.claim(get_storage_path(json.loads(request)))
    except DataError as error:
        return json.dumps({"refused": reason_of(error)})
    return "{}"


async def release(request):
    """Give back what was claimed for a training that does not come about."""
    from webnnm.snapshots import storage

    await storage.release(get_storage_path(json.loads(request)))
    return "{}"


async def find_kept(request):
    """Return how far the training is that the browser keeps; nothing where there is none to end.

    `busy` says that another tab is training, `unreadable` why what is kept cannot be read now.
    """
    claimed = json.loads(await claim(request))
    if claimed:
        return json.dumps({"busy": claimed["refused"]})
    try:
        loaded = await NNModel.load(get_storage_path(json.loads(request)), log=lambda text: None)
    except WebNNMError as error:
        if error.code == "NNM715" and not error.__cause__:
            return "{}"
        damaged = error.code.startswith("NNM80")
        return json.dumps({"error" if damaged else "unreadable": str(error)})
    finally:
        await release(request)
    standing = loaded.state.checkpoint
    loaded.close()
    epochs = standing.settings.epochs if standing else 0
    if not standing or standing.epoch >= epochs:
        return "{}"
    return json.dumps({"epoch": standing.epoch + (standing.batch > 0), "epochs": epochs})


async def discard(request):
    """Keep the training of that name no longer."""
    from webnnm.snapshots import storage

    try:
        await storage.discard(get_storage_path(json.loads(request)))
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    return "{}"


async def save(request):
    """Return the model, and where its training stands, as a file in base64.

    With the `format` "page", it is the archive of a page that runs the model.
    """
    from base64 import b64encode

    format = json.loads(request).get("format")
    try:
        content = await (model.export(format=format) if format else model.save())
        return json.dumps({"file": b64encode(content).decode()})
    except WebNNMError as error:
        return json.dumps({"error": str(error)})


async def load(request):
    """Take the model of a file in base64, test it, and return what came out, with its text."""
    global history, tested
    from base64 import b64decode

    options = json.loads(request)
    messages = Messages(options.get("channel"))
    try:
        take(await open_model(b64decode(options["file"]), options, messages.log))
        history = tested = None
        return json.dumps(await result() | {"source": model.serialize()})
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    finally:
        messages.close()


async def examples(request):
    """Return a row of the testing part for each class: its name and its numbers."""
    try:
        data = await dataset_of(json.loads(request))
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    inputs, outputs = data.arrays("testing")
    ((rows, classes),) = zip(inputs.values(), outputs.values(), strict=True)
    numbers = [int(number) for number in classes.values()]
    first = {name: numbers.index(number) for number, name in enumerate(data.labels())}
    return json.dumps({name: rows.rows([row]).tolist()[0] for name, row in first.items()})


async def mistakes(request):
    """Return rows of the testing part of class `actual` that the model takes for `predicted`.

    They are numbers in the units of the data, each row with the probability of each class.
    """
    options = json.loads(request)
    try:
        rows, classes, shares = await answers(options)
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    numbers = zip(classes, map(class_of, shares), strict=True)
    chosen = options["actual"], options["predicted"]
    indices = [row for row, pair in enumerate(numbers) if pair == chosen][:MAX_MISTAKES]
    shown = zip(rows.rows(indices).tolist(), indices, strict=True) if indices else ()
    return json.dumps({"rows": [{"row": values, "shares": shares[row]} for values, row in shown]})


async def answers(options):
    """Return the rows of the testing part, the class of each, and the probabilities it is given."""
    data = await dataset_of(options | {"standardize": False})
    inputs, outputs = data.arrays("testing")
    ((rows, classes),) = zip(inputs.values(), outputs.values(), strict=True)
    shares = (await model.predict(rows)).tolist()
    return rows, [class_of(label) for label in classes.tolist()], shares


async def closer(request):
    """Return charts of the training as far as it is, and of its model once that is tested."""
    global watch
    import insights
    from watch import LayerWatch

    watch = watch or LayerWatch()
    try:
        if training:
            await watch.look(training, model, dataset)
        if training:
            charts = insights.course(training.history.epochs) + insights.layers(watch.looks)
            return json.dumps({"charts": charts})
        if not tested:
            return json.dumps({"charts": []})
        _, classes, shares = await answers(json.loads(request))
        from webnnm import inspect_model

        inspection = await inspect_model(model)
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    charts = insights.course(history.epochs) if history else []
    charts += insights.answers(tested.labels, classes, shares, tested.calibration)
    charts += insights.pictures(model, inspection) + insights.layers(watch.course(inspection))
    return json.dumps({"charts": charts})


def class_of(label):
    """Return the class of a label or of the probabilities of classes."""
    return label.index(max(label)) if isinstance(label, list) else int(label)


async def pause():
    """Hold the training."""
    if training:
        training.pause()


async def resume():
    """Resume the training."""
    if training:
        training.resume()


async def stop():
    """End the training early; `train` then returns with the best parameters."""
    if training:
        await training.stop()


async def classify(request):
    """Return the probability of each class for one row, in the units of the data.

    With `compare`, "outside" has the number, the lowest and the highest value of each feature that
    is outside of what training saw.
    """
    options = json.loads(request)
    try:
        (shares,) = (await model.predict([options["row"]])).tolist()
        outside = await find_outside(options) if options.get("compare") else []
    except WebNNMError as error:
        return json.dumps({"error": str(error)})
    labelled = dict(zip(dataset.labels(), shares, strict=True))
    return json.dumps({"shares": labelled, "outside": outside})


async def find_outside(options):
    """Return number and range of each feature whose value is outside of what training saw."""
    data = await dataset_of(options | {"standardize": False})
    (rows,) = data.arrays("training")[0].values()
    ranges = [(min(values), max(values)) for values in zip(*rows.tolist(), strict=True)]
    # As the rows hold them: 0.1 is less than the smallest width, which is 0.1 in 32 bits.
    flower = array("f", options["row"])
    pairs = enumerate(zip(flower, ranges, strict=True))
    return [[k, low, high] for k, (value, (low, high)) in pairs if not low <= value <= high]
