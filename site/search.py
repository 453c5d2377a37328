"""The page that searches: sentences are found by what they mean."""

import asyncio
import re
import time
from pathlib import Path

from fetched import MEGABYTE, load
from page import clear_error, element, hand_over, make, show_error
from pretrained import model_of, offer_model, read_chosen_files
from pyscript import when

LENGTHS = (16, 32, 64, 128, 256)
"""Tokens that graphs are compiled for; longer sentences are cut."""
ROWS = 8
"""Sentences that go through the network at once."""
MAX_SHOWN = 5
ENDS = re.compile(r"(?<=[.!?…])\s+|\n+")


class Searcher:
    """The model, and the numbers of the sentences that it has seen."""

    def __init__(self):
        self.model = None
        self.known = {}
        self.stopped = False

    async def use(self, model):
        """Take a model; of one before, the memory is freed."""
        if self.model is not None:
            self.model.close()
        self.model, self.known = model, {}
        await look()

    async def embed(self, sentences):
        """Learn the numbers of sentences that are new, those of like length together."""
        encode = self.model.tokenizer.encode
        tokens = {text: encode(text)[: LENGTHS[-1]] for text in {*sentences} - self.known.keys()}
        rows = sorted(tokens, key=lambda text: len(tokens[text]))
        for start in range(0, len(rows), ROWS):
            if self.stopped:
                return
            batch = rows[start : start + ROWS]
            longest = max(len(tokens[text]) for text in batch)
            size = next(length for length in LENGTHS if length >= longest)
            padded = [tokens[text] for text in batch] + [[]] * (ROWS - len(batch) if start else 0)
            ids = [row + [0] * (size - len(row)) for row in padded]
            mask = [[1] * max(len(row), 1) + [0] * (size - max(len(row), 1)) for row in padded]
            output = await self.model.predict(input_ids=ids, attention_mask=mask)
            vectors = output["sentence_embedding"].tolist()
            self.known |= zip(batch, vectors[: len(batch)], strict=True)
            element("course").value = (start + len(batch)) / len(rows)
            await asyncio.sleep(0)  # the page draws it

    async def find(self, query, sentences):
        """Return the sentences with how close they are to a question, the closest first."""
        await self.embed([query, *sentences])
        if query not in self.known:
            return []
        asked = self.known[query]
        pairs = [(self.known[text], text) for text in sentences if text in self.known]
        scored = [(sum(map(multiply, asked, vector)), text) for vector, text in pairs]
        return sorted(scored, reverse=True)

    async def show(self, query, sentences):
        """Show what is closest, and how long it took."""
        started, before = time.perf_counter(), len(self.known)
        results = await self.find(query, sentences)
        seconds, new = time.perf_counter() - started, len(self.known) - before
        rows = []
        for closeness, text in results[:MAX_SHOWN]:
            row, bar = make("li"), make("span", class_="bar", aria_hidden="true")
            bar.style.setProperty("--share", f"{max(closeness, 0):.3f}")
            row.append(make("p", text), bar, make("small", f"{closeness:.2f}"))
            rows.append(row)
        element("found").replaceChildren(*rows)
        held = self.model.backend.memory().bytes
        element("rate").textContent = (
            f"{len(results)} sentences, {new} of them new with the question, in {seconds:.2f} s, "
            f"{held / MEGABYTE:.0f} MB, on {self.model.backend.description}"
        )


def multiply(one, other):
    """Return a product."""
    return one * other


async def own(files):
    """Return the model of the reader's files."""
    return await model_of(files, pooling="mean")


@when("change", "#folder")
async def choose(event):
    """Take a model of the reader's own."""
    if element("folder").files.length:
        await load(lambda: read_chosen_files("folder"), searcher.use, own)


@when("submit", "#form")
async def search(event):
    """Look for what is closest to the question."""
    event.preventDefault()
    clear_error()
    await look()


async def look():
    """Show which sentences of the text are closest to the question."""
    element("result").hidden = False
    query = element("query").value.strip()
    sentences = [text for part in ENDS.split(element("text").value) if (text := part.strip())]
    if not query or not sentences:
        element("rate").textContent = "There is nothing to look for, or nothing to look in."
        return
    searcher.stopped = False
    hand_over(["find"], ["stop"])
    try:
        await searcher.show(query, sentences)
    except Exception as error:
        show_error(error)
    hand_over(["stop"], ["find"])
    element("found").dataset.query = query


@when("click", "#stop")
def stop(event):
    """Search among the sentences that were read so far."""
    searcher.stopped = True


searcher = Searcher()
element("text").value = Path("facts.txt").read_text().strip()
FILES = ("config.json", "tokenizer.json", "model.safetensors")
await offer_model("all-MiniLM-L6-v2", searcher.use, files=FILES, pooling="mean")
