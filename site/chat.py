"""The chat page: a small language model answers on this device, token by token."""

import asyncio
import time

from fetched import MEGABYTE, load
from page import clear_error, element, log, make, read_number, show_error
from pretrained import SMOLLM2, model_of, offer_model, read_chosen_files
from pyscript import when


class Chat:
    """The model, and the conversation so far."""

    def __init__(self):
        self.model = None
        self.messages = []
        self.warm_up = None

    async def use(self, model):
        """Take a model; of one before, the memory is freed."""
        if self.warm_up is not None:
            self.warm_up.cancel()
        if self.model is not None:
            self.model.close()
        self.model = model
        self.forget()
        element("message").focus()
        if model.backend.name == "webnn":  # others compute where the page draws
            self.warm_up = asyncio.ensure_future(self.compile())

    async def compile(self):
        """Compile the graphs of an answer while the reader writes the first message."""
        greeting = {"role": "user", "content": "Hello"}
        try:
            pieces = aiter(self.model.generate([*self.prompt(), greeting], **settings()))
            for _ in range(2):  # the second token needs another graph than the first
                await anext(pieces, None)
            await pieces.aclose()
        except Exception as error:  # which the first message shows
            log(f"no graph was compiled in advance: {error}")

    def forget(self):
        """Begin a new conversation."""
        self.messages = []
        element("conversation").replaceChildren()
        element("rate").textContent = ""
        element("samples").hidden, element("new").disabled = False, True

    async def answer(self, text):
        """Answer a message; the conversation keeps what was said when it is stopped."""
        self.messages.append({"role": "user", "content": text})
        element("samples").hidden = True
        self.say("You", text)
        shown, answer, started = self.say("Model", "…"), "", time.perf_counter()
        count = 0
        element("rate").textContent = "Reading …"
        element("conversation").setAttribute("aria-busy", "true")  # read out when it is whole
        async for piece in self.model.generate(self.prompt(), **settings()):
            if not count:
                first = time.perf_counter() - started
            count += 1
            answer += piece
            shown.textContent = answer
            shown.scrollIntoView(block="nearest")
            self.tell(first)
        shown.textContent = answer or "(no answer)"
        element("conversation").setAttribute("aria-busy", "false")
        self.messages.append({"role": "assistant", "content": answer})
        if count:
            self.tell(first)
        element("rate").dataset.count = str(len(self.messages))

    def prompt(self):
        """Return the messages, what the model is to be first."""
        role = element("role").value.strip()
        return [{"role": "system", "content": role}] * bool(role) + self.messages

    def say(self, who, text):
        """Add a message to the page, and return the element of its text."""
        item, shown = make("li"), make("p", text)
        item.append(make("strong", who), shown)
        element("conversation").append(item)
        return shown

    def tell(self, first):
        """Say how fast it is, where, and in how much memory."""
        speed, held = self.model.speed, self.model.backend.memory().bytes
        element("rate").textContent = (
            f"{speed.tokens_per_second:.1f} tokens a second, the first after {first:.1f} s "
            f"({speed.prompt_tokens} tokens read), {held / MEGABYTE:.0f} MB, "
            f"on {self.model.backend.description}"
        )


def settings():
    """Return how tokens are chosen."""
    temperature = read_number("temperature")
    return {
        "max_new_tokens": int(read_number("most")),
        "temperature": temperature or None,
        "top_p": 0.95 if temperature else None,
        "seed": int(time.time()),
    }


@when("change", "#file")
async def choose(event):
    """Take a model of the reader's own."""
    if element("file").files.length:
        await load(lambda: read_chosen_files("file"), chat.use, model_of)


@when("submit", "#say")
async def send(event):
    """Send a message, and show the answer as it comes."""
    event.preventDefault()
    text = element("message").value.strip()
    if not text or element("send").disabled:
        return
    clear_error()
    element("message").value = ""
    element("send").disabled = element("new").disabled = True
    element("stop").disabled = False
    try:
        await chat.answer(text)
    except Exception as error:
        show_error(error)
        element("rate").textContent = "There is no answer."
    element("send").disabled = element("new").disabled = False
    element("stop").disabled = True
    element("message").focus()


@when("click", "#samples button")
def ask(event):
    """Send one of the questions to try."""
    element("message").value = event.target.textContent
    element("say").requestSubmit()


@when("keydown", "#message")
def press(event):
    """Send with Enter; Shift and Enter begin a new line."""
    if event.key == "Enter" and not event.shiftKey and not event.isComposing:
        event.preventDefault()
        element("say").requestSubmit()


@when("click", "#stop")
def stop(event):
    """End the answer here."""
    chat.model.stop()


@when("click", "#new")
def anew(event):
    """Begin a new conversation."""
    chat.forget()
    element("message").focus()


chat = Chat()
await offer_model(SMOLLM2, chat.use)
