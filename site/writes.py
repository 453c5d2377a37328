"""How a language model writes: its tokens, where each looks, and how probable the next ones are."""

import random
import time

from attempts import Delayed, Queue
from page import element, make, percent
from pretrained import SMOLLM2, offer_model
from pyscript import when

from webnnm import TextInspector

MANY = 10
RANDOM = random.Random()


class Writing(Delayed):
    """The text, what the model makes of it, and which token's attention is shown."""

    def __init__(self):
        super().__init__()
        self.inspector = self.seen = self.chosen = None
        self.latest = None

    async def use(self, model):
        """Take the model, and read the text with it."""
        self.inspector = TextInspector(model)
        await self.read()

    async def read(self):
        """Read the text, and show what the model makes of it; a later call supersedes this one."""
        self.latest = this = object()
        began = time.perf_counter()
        seen = await self.inspector.inspect(element("text").value)
        if self.latest is not this:
            return
        first_time = self.seen is None
        self.seen, self.chosen = seen, len(seen.tokens) - 1
        if first_time:
            self.offer_heads()
        self.show_tokens()
        self.show_next()
        element(
            "figures"
        ).textContent = (
            f"{len(seen.tokens)} tokens read in {1e3 * (time.perf_counter() - began):.0f} ms"
        )
        element("figures").dataset.text = element("text").value

    def offer_heads(self):
        """Offer the layers and heads of the model."""
        heads = self.attention(1).shape[0]
        element("layer").max = len(self.seen.attention)
        element("head").append(
            *(make("option", f"Head {k + 1} of {heads}", value=k) for k in range(heads))
        )
        element("vocabulary").textContent = f"{len(self.seen.scores):,}"

    def attention(self, layer):
        """Return the attention of a layer, which are counted from 1."""
        return [*self.seen.attention.values()][layer - 1]

    def looks(self):
        """Return how much the chosen token takes from each token, as shares of the largest."""
        weights = self.attention(int(element("layer").value)).tolist()
        head = element("head").value
        heads = [weights[int(head)]] if head else weights
        rows = [head[self.chosen] for head in heads]
        row = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        if not element("first").checked and len(row) > 1:
            row[0] = 0.0
        largest = max(row) or 1.0
        return [weight / largest for weight in row]

    def show_tokens(self):
        """Show the tokens, each as dark as the chosen one looks at it."""
        element("layer-value").textContent = element("layer").value
        focused = element("tokens").querySelector("button:focus")
        items = []
        for number, (text, share) in enumerate(zip(self.seen.texts, self.looks(), strict=True)):
            button = make("button", visible(text), type="button", id=f"token-{number}")
            button.setAttribute("aria-pressed", str(number == self.chosen).lower())
            item = make("li")
            item.style.setProperty("--share", f"{share:.3f}")
            item.append(button)
            items.append(item)
        element("tokens").replaceChildren(*items)
        if focused:
            element(f"token-{self.chosen}").focus()

    def show_next(self):
        """Show the most probable next tokens as bars."""
        element("temperature-value").textContent = f"{temperature():.1f}"
        items = []
        for token in self.seen.next_tokens(MANY, temperature=temperature()):
            button = make("button", visible(token.text), type="button")
            button.dataset.token = str(token.token)
            item, share = make("li"), percent(token.probability, 1)
            meter = make("meter", share, value=f"{token.probability:.4f}", aria_label="Probability")
            item.append(button, meter, share)
            items.append(item)
        element("next").replaceChildren(*items)

    async def write(self, token):
        """Write a token, and read again."""
        await self.rewrite([*self.seen.tokens, token])

    async def draw(self, count):
        """Draw tokens by their probabilities, and write each."""
        for _ in range(count):
            shares = self.seen.probabilities(temperature())
            (token,) = RANDOM.choices(range(len(shares)), shares)
            await self.write(token)

    async def take_back(self):
        """Take the last token back."""
        if len(self.seen.tokens) > 1:
            await self.rewrite(self.seen.tokens[:-1])

    async def rewrite(self, tokens):
        """Make tokens the text, and read it."""
        element("text").value = self.inspector.model.tokenizer.decode(tokens)
        await self.read()


def temperature():
    """Return the temperature that is set."""
    return float(element("temperature").value)


def visible(text):
    """Return a token with a sign for spaces and line ends, which else nobody sees."""
    return text.replace(" ", "·").replace("\n", "↵") or "∅"


writing, queue = Writing(), Queue()


@when("input", "#text")
def change(event):
    """Read what is written, once nobody writes for a moment."""
    if element("text").value:
        writing.soon(writing.read)


@when("input", "#layer, #head, #first")
def look(event):
    """Show another layer or head."""
    writing.show_tokens()


@when("click", "#tokens")
def choose(event):
    """Show where another token looked."""
    button = event.target.closest("button")
    if button:
        writing.chosen = int(button.id.removeprefix("token-"))
        writing.show_tokens()


@when("click", "#next")
async def take(event):
    """Write the token that is pressed."""
    button = event.target.closest("button")
    if button:
        await queue.attempt(writing.write, int(button.dataset.token))


@when("input", "#temperature")
def warm(event):
    """Show the probabilities at another temperature."""
    writing.show_next()


@when("click", "#draw")
async def draw(event):
    """Draw one token."""
    await queue.attempt(writing.draw, 1)


@when("click", "#go")
async def draw_many(event):
    """Draw ten tokens, one after the other."""
    await queue.attempt(writing.draw, MANY)


@when("click", "#back")
async def take_back(event):
    """Take the last token back."""
    await queue.attempt(writing.take_back)


await offer_model(SMOLLM2, writing.use)
