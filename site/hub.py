"""The page of models of the hub: the files of one, what it is for, and a try."""

import json
import time
from collections.abc import Mapping, Sequence

from fetched import load
from page import clear_error, element, make, percent, show_error, show_shares
from pretrained import model_of, offer_model
from pyscript import when, window
from pyscript.js_modules import layers, pictures, player

EXAMPLE = "all-MiniLM-L6-v2"
FILES = ("config.json", "tokenizer.json", "model.safetensors")
TEXTS = ("text", "lines", "labels")
"""Fields that keep what was written when the task changes."""
FIELDS = {
    "audio-classification": {"sound": ""},
    "automatic-speech-recognition": {"sound": ""},
    "background-removal": {"picture": ""},
    "depth-estimation": {"picture": ""},
    "feature-extraction": {"text": "How do plants make their food?"},
    "fill-mask": {"text": "The capital of France is [MASK]."},
    "image-classification": {"picture": ""},
    "image-feature-extraction": {"picture": ""},
    "image-segmentation": {"picture": ""},
    "object-detection": {"picture": ""},
    "question-answering": {
        "text": "Where does she live?",
        "lines": "My name is Sarah, and I live in London.",
    },
    "sentence-similarity": {
        "text": "How do plants make their food?",
        "lines": "Leaves turn light and water into sugar.\nThe bank opens at nine.\nRoots drink.",
    },
    "summarization": {"text": ""},
    "text-classification": {"text": "What a lovely day!"},
    "text-generation": {"text": "Once upon a time"},
    "text-to-speech": {"text": "Good morning, everybody."},
    "text-ranking": {
        "text": "How do plants make their food?",
        "lines": "Leaves turn light and water into sugar.\nThe bank opens at nine.",
    },
    "text2text-generation": {"text": ""},
    "token-classification": {"text": "My name is Sarah, and I live in London."},
    "translation": {"text": "Good morning, everybody."},
    "zero-shot-classification": {
        "text": "The team scored twice in the last minute.",
        "labels": "sport, politics, cooking",
    },
    "zero-shot-object-detection": {"picture": "", "labels": "a cat, a remote control"},
    "zero-shot-image-classification": {
        "picture": "",
        "labels": "a photo of a cat, a photo of a dog",
    },
}
"""Task → its fields with what they say at first."""
TITLES = {
    "question-answering": ("Question", "Text that answers it"),
    "sentence-similarity": ("Sentence", "Others, one in each line"),
    "text-ranking": ("Question", "Answers, one in each line"),
}
"""Task → the titles of the two fields of texts, where they are not the usual ones."""
USUAL = "Text", "Sentences, one in each line"
COLOURS = [
    (31, 119, 180),
    (214, 96, 20),
    (44, 140, 60),
    (196, 40, 60),
    (128, 84, 170),
    (130, 90, 60),
]
MAX_SHOWN = 12
"""Numbers of a vector, and objects, that are shown."""


class Hub:
    """The model of the page, the task that is chosen, and its pipeline."""

    def __init__(self):
        self.model = self.pipeline = None
        self.texts = {}

    async def use(self, model):
        """Take a model, free the one before, and offer its tasks."""
        from webnnm import DataError, list_tasks

        self.close()
        self.model = model
        tasks = [task for task in list_tasks(model) if task in FIELDS]
        name = (model.config.get("architectures") or [model.config.get("model_type")])[0]
        if not tasks:
            raise DataError("NNM717", f"{name} fits no task of this page")
        options = [make("option", task, value=task) for task in tasks]
        element("task").replaceChildren(*options)
        element("form").hidden, element("result").hidden = False, True
        held = model.backend.memory().bytes / 1e6
        about = f"{name}, {held:,.0f} MB in memory. Tasks: {', '.join(tasks)}."
        element("about").textContent = about
        await self.choose()

    def close(self):
        """Free the memory of the model."""
        if self.pipeline is not None:
            self.pipeline.close()
        if self.model is not None:
            self.model.close()
        self.model = self.pipeline = None

    async def choose(self):
        """Open the pipeline of the task, and show its fields."""
        from webnnm import pipeline

        if self.pipeline is not None:
            self.pipeline.close()
        task = element("task").value
        self.pipeline = await pipeline(task, self.model)
        shown = FIELDS[task]
        for field in window.document.querySelectorAll("[data-field]"):
            name = field.dataset.field
            field.hidden = name not in shown
            control = element(name)
            if name in TEXTS and name in shown and control.value in ("", self.texts.get(name)):
                control.value = self.texts[name] = self.say(shown[name])
        for name, title in zip(("text", "lines"), TITLES.get(task, USUAL), strict=True):
            window.document.querySelector(f"label[for={name}]").textContent = title

    def say(self, text):
        """Return a text with the mask of the model."""
        if "[MASK]" not in text:
            return text
        return text.replace("[MASK]", self.pipeline.mask_token)

    async def run(self):
        """Carry out the task, and show what it gives."""
        task = element("task").value
        arguments, settings = await read_fields(task)
        started = time.perf_counter()
        result = await self.pipeline(*arguments, **settings)
        seconds = time.perf_counter() - started
        element("result").hidden = False
        await show(task, result)
        element("rate").textContent = f"{seconds:.2f} s, on {self.model.backend.description}"
        element("rate").dataset.task = task
        element("program").textContent = program(task, settings)


async def read_fields(task):
    """Return the arguments of the pipeline for what the fields say."""
    shown = FIELDS[task]
    text = element("text").value
    lines = [line.strip() for line in element("lines").value.splitlines() if line.strip()]
    labels = [label.strip() for label in element("labels").value.split(",") if label.strip()]
    if task == "question-answering":
        return [], {"question": text, "context": element("lines").value}
    if task in ("sentence-similarity", "text-ranking"):
        return [text, lines], {}
    more = {"candidate_labels": labels} if "labels" in shown else {}
    if "text" in shown:
        return [text], more
    return [await read_file("picture" if "picture" in shown else "sound")], more


async def read_file(name):
    """Return the bytes of the file of a field. Raises `DataError` NNM702 if there is none."""
    from webnnm import DataError

    files = element(name).files
    if not files.length:
        raise DataError("NNM702", f"there is no {name}", hint="choose a file")
    file = files.item(0)
    if name == "picture":
        await pictures.read(file)
        width, height = pictures.size()
        pictures.show(element("canvas"), width, height)
    return (await file.arrayBuffer()).to_bytes()


async def show(task, result):
    """Show a result: as bars, marked words, boxes or colours where it has these."""
    for name in ("shares", "boxes", "legend", "marked"):
        element(name).replaceChildren()
    element("answer").textContent = ""
    element("view").hidden = "picture" not in FIELDS[task]
    element("returned").textContent = json.dumps(shorten(result), indent=1, ensure_ascii=False)
    if shown := viewers.get(task, show_text)(result):
        await shown


def show_text(result):
    """Show the text of a result, or a part of its numbers."""
    first = result[0] if isinstance(result, list) and result else result
    if isinstance(first, Mapping):
        texts = [value for value in first.values() if isinstance(value, str)]
        if texts:
            element("answer").textContent = texts[0]


def show_scores(result):
    """Show labels with their scores."""
    if isinstance(result, Mapping):
        result = [
            {"label": label, "score": score}
            for label, score in zip(result["labels"], result["scores"], strict=True)
        ]
    name = "label" if "label" in result[0] else "token_str"
    shares = {str(entry[name]): entry["score"] for entry in result}
    element("answer").textContent = show_shares(shares)


def show_similarity(result):
    """Show how alike sentences are, the closest first."""
    lines = [line.strip() for line in element("lines").value.splitlines() if line.strip()]
    if isinstance(result[0], Mapping):  # ranked
        pairs = [(entry["score"], lines[entry["index"]]) for entry in result]
    else:
        pairs = sorted(zip(result, lines, strict=True), reverse=True)
    show_shares({line: max(0.0, score) for score, line in pairs})
    element("answer").textContent = pairs[0][1]


def show_words(result):
    """Mark the tokens that belong to a class."""
    text, end, parts = element("text").value, 0, []
    for entry in result:
        mark = make("mark", text[entry["start"] : entry["end"]])
        mark.style.setProperty("--share", "1")
        label = make("small", f" {entry.get('entity_group') or entry['entity']}")
        parts += [window.document.createTextNode(text[end : entry["start"]]), mark, label]
        end = entry["end"]
    parts.append(window.document.createTextNode(text[end:]))
    element("marked").replaceChildren(*parts)


def show_boxes(result):
    """Show boxes around the objects of a picture."""
    canvas = element("canvas")
    labels = sorted({entry["label"] for entry in result})
    for entry in result:
        box, node = entry["box"], make("div", class_="box")
        node.append(make("span", f"{entry['label']} {percent(entry['score'])}"))
        colour = COLOURS[labels.index(entry["label"]) % len(COLOURS)]
        node.style.setProperty("--colour", f"rgb{colour}")
        for name, value, whole in (
            ("left", box["xmin"], canvas.width),
            ("top", box["ymin"], canvas.height),
            ("width", box["xmax"] - box["xmin"], canvas.width),
            ("height", box["ymax"] - box["ymin"], canvas.height),
        ):
            node.style.setProperty(name, f"{100 * value / whole:.2f}%")
        element("boxes").append(node)
    count = len(result)
    element("answer").textContent = f"{count} object{'' if count == 1 else 's'}"


def show_masks(result):
    """Colour the masks of a picture."""
    for number, entry in enumerate(result[:MAX_SHOWN]):
        colour = COLOURS[number % len(COLOURS)]
        layers.colourMask(element("canvas"), as_bytes(entry["mask"]), list(colour))
        item = make("li", str(entry["label"]))
        item.style.setProperty("--colour", f"rgb{colour}")
        element("legend").append(item)


def show_cutout(result):
    """Colour the background of a picture, which is transparent."""
    alpha = memoryview(result).cast("B")[3::4].tobytes()
    hidden = memoryview(alpha.translate(bytes(255 * (byte < 128) for byte in range(256))))
    layers.colourMask(element("canvas"), as_bytes(hidden), list(COLOURS[0]))
    share = hidden.tobytes().count(255) / max(1, len(hidden))
    element("answer").textContent = f"{percent(share)} of the picture is background"


def show_depth(result):
    """Show what is near light, and what is far dark."""
    layers.drawMap(element("canvas"), as_bytes(result["depth"]))
    element("answer").textContent = "Light is near, dark is far, or the other way round for meters."


async def show_speech(result):
    """Play what was spoken."""
    from pyodide.ffi import to_js

    audio, rate = result["audio"], result["sampling_rate"]
    element("answer").textContent = f"{len(audio) / rate:.1f} s of speech"
    await player.play(to_js(memoryview(audio)), rate)


def as_bytes(values):
    """Return an array of bytes for JavaScript."""
    from pyodide.ffi import to_js

    return to_js(memoryview(values).cast("B"))


def shorten(value):
    """Return a result with its long lists cut and its arrays described."""
    if isinstance(value, Mapping):
        return {key: shorten(entry) for key, entry in value.items()}
    if isinstance(value, str) or not isinstance(value, Sequence):
        shape = getattr(value, "shape", None)
        return value if shape is None else f"array of shape {tuple(shape)}"
    entries = [shorten(entry) for entry in value[:MAX_SHOWN]]
    return entries + ([f"… {len(value) - MAX_SHOWN} more"] if len(value) > MAX_SHOWN else [])


def program(task, settings):
    """Return the lines of Python that do the same."""
    fields = FIELDS[task]
    first = {"picture": '"photo.jpg"', "sound": '"speech.wav"'}
    names = [first.get(name, name) for name in fields if name != "labels"]
    if "question" in settings:
        names = []
    given = [*names, *(f"{name}={name}" for name in settings)]
    return (
        "import webnnm\n\n"
        f'run = await webnnm.pipeline("{task}", "folder-of-the-model")\n'
        f"print(await run({', '.join(given)}))"
    )


viewers = {
    "audio-classification": show_scores,
    "background-removal": show_cutout,
    "depth-estimation": show_depth,
    "fill-mask": show_scores,
    "image-classification": show_scores,
    "image-segmentation": show_masks,
    "object-detection": show_boxes,
    "sentence-similarity": show_similarity,
    "text-classification": show_scores,
    "text-ranking": show_similarity,
    "text-to-speech": show_speech,
    "token-classification": show_words,
    "zero-shot-classification": show_scores,
    "zero-shot-image-classification": show_scores,
    "zero-shot-object-detection": show_boxes,
}


@when("change", "#folder")
async def choose_files(event):
    """Take the files that were chosen."""
    if element("folder").files.length:
        await open_files(element("folder").files)


@when("dragover", "#drop")
def allow(event):
    """Allow to drop files."""
    event.preventDefault()


@when("drop", "#drop")
async def drop(event):
    """Take the files that were dropped."""
    event.preventDefault()
    if event.dataTransfer.files.length:
        await open_files(event.dataTransfer.files)


async def open_files(files):
    """Open the model of files."""

    async def addresses():
        items = [files.item(index) for index in range(files.length)]
        return {file.name: (await file.arrayBuffer()).to_bytes() for file in items}

    await load(addresses, hub.use, model_of)


@when("change", "#task")
async def change(event):
    """Open the pipeline of another task."""
    clear_error()
    try:
        await hub.choose()
    except Exception as error:
        show_error(error)


@when("submit", "#form")
async def run(event):
    """Run the pipeline."""
    event.preventDefault()
    clear_error()
    element("run").disabled = True
    try:
        await hub.run()
    except Exception as error:
        show_error(error)
    element("run").disabled = False
    element("run").focus()


async def use_example(model):
    """Take the example, and run it."""
    await hub.use(model)
    await hub.run()


hub = Hub()
await offer_model(EXAMPLE, use_example, files=FILES)
