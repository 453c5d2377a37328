"""The preview of a page that is taught: what its model says of camera, microphone and files."""

import asyncio
import time

from page import element, make, show_shares
from pyscript import document, when

LOOK = 0.03
"""Seconds between two looks at a model that is being trained."""
FIRST_SAMPLE = 1000
"""The number of the first sample of the trial: no ready example has it."""


class Preview:
    """What is sensed or was chosen last, `content`, and what the model says of it.

    `page` is a `TeachingPage`. Attributes: `sensing`, whether camera or microphone are open.
    """

    def __init__(self, page):
        self.page, self.kind = page, page.kind
        self.content, self.sensing = None, False
        self.opening, self.following = asyncio.Lock(), None
        self.answered, self.look_due, self.samples = 0, 0.0, 0
        self.steady, self.told, self.outdated = {}, {}, False
        attempting = page.attempting
        when("click", "#start")(attempting(self.start))
        when("click", "#stop")(attempting(self.stop))
        when("change", "#file")(self.choose)
        when("click", "#sample")(attempting(self.try_sample))

    # What is tried.

    async def show(self, content):
        """Show an example, and what the model says of it, unless something is sensed."""
        if not self.sensing:
            await self.ask(content)

    async def ask(self, content):
        """Show an example, and what the model says of it."""
        await self.display(content)
        await self.ask_again()

    async def display(self, content):
        """Show an example."""
        self.content = content
        await self.kind.show(content)
        document.querySelector(".stage").classList.add("filled")

    async def ask_again(self):
        """Show what the model says of the example that is shown."""
        learner = self.page.learner
        if self.content is None or self.page.busy or self.outdated or not learner.names:
            return
        shares, seconds = await self.judge(learner.shares, self.content)
        before = self.steady if self.steady.keys() == shares.keys() else shares
        part = self.kind.inertia if self.sensing else 0
        self.steady = {
            name: part * before[name] + (1 - part) * share for name, share in shares.items()
        }
        self.tell(self.steady, seconds)

    async def judge(self, shares_of, content):
        """Return how probable each class is, and the seconds that it took to find that."""
        began = time.perf_counter()
        shares = await shares_of(lambda shape: self.kind.numbers(content, shape))
        return shares, time.perf_counter() - began

    async def look(self, judge):
        """Show what a model that is being trained says by now, a few times per second."""
        now = time.perf_counter()
        if self.content is None or now < self.look_due:
            return
        shares, seconds = await self.judge(judge, self.content)
        self.tell(shares, seconds, counts=False)
        self.look_due = time.perf_counter() + LOOK
        await asyncio.sleep(0)  # the page draws it

    def tell(self, shares, seconds, *, counts=True):
        """Show an answer, which counts unless the model is still being trained."""
        self.answered += counts
        self.told = shares
        bars = element("shares")
        for name in ("data-example", "aria-hidden"):
            bars.removeAttribute(name)
        element("shares-help").hidden = True
        element("answer").textContent = show_shares(shares)
        rate = element("rate")
        rate.textContent = f"{1000 * seconds:.0f} ms, on {self.page.learner.backend.description}"
        rate.dataset.count = str(self.answered)

    def rename(self, names):
        """Show the last answer with other names of its classes."""
        if len(self.told) == len(names):
            self.told = dict(zip(names, self.told.values(), strict=True))
            element("answer").textContent = show_shares(self.told)
        if len(self.steady) == len(names):
            self.steady = dict(zip(names, self.steady.values(), strict=True))

    def reset(self):
        """Take a new model: what the last one said does not count."""
        self.steady, self.told, self.look_due, self.outdated = {}, {}, 0.0, False

    def clear(self):
        """Show no answer before the next training: the model knows a class that is removed."""
        self.steady, self.told, self.outdated = {}, {}, True
        for name in ("answer", "rate", "parts"):
            element(name).replaceChildren()
        bars, help_text = element("shares"), element("shares-help")
        bars.dataset.example = bars.ariaHidden = "true"
        help_text.textContent = "The classes have changed: train again to see the bars."
        help_text.hidden = False

    async def choose(self, event):
        """Try the model on a file."""
        if element("file").files.length:
            await self.page.attempt(self.try_file, element("file").files.item(0))

    async def try_file(self, file):
        """Show what the model takes a file for, in the place of what is sensed.

        Of several examples in a file each is told, and their mean is shown.
        """
        await self.end_sensing()
        element("parts").replaceChildren()
        answers, spent = [], 0.0
        for content in await self.kind.read(file):
            await self.display(content)
            shares, seconds = await self.judge(self.page.learner.shares, content)
            answers.append(shares)
            spent += seconds
        names = answers[0]
        mean = {name: sum(answer[name] for answer in answers) / len(answers) for name in names}
        self.tell(mean, spent / len(answers))
        if len(answers) > 1:
            parts = [self.kind.describe(number, answer) for number, answer in enumerate(answers)]
            element("parts").replaceChildren(*(make("li", part) for part in parts))

    async def try_sample(self):
        """Try the model on a ready example that it has not learnt."""
        await self.end_sensing()
        element("parts").replaceChildren()
        content = self.next_sample()
        await self.ask(content)
        await self.kind.present(content)

    def next_sample(self):
        """Return another ready example, of each class in turn."""
        names = self.kind.ready
        self.samples += 1
        name = names[-self.samples % len(names)]
        return self.kind.sample(name, FIRST_SAMPLE + self.samples)

    # The camera or the microphone.

    async def start(self):
        """Begin to sense."""
        await self.begin_sensing()
        element("stop").focus()

    async def stop(self):
        """Sense no more."""
        await self.end_sensing()
        element("start").focus()

    async def begin_sensing(self):
        """Open the camera or the microphone, and follow what it senses."""
        await self.page.prepare()
        async with self.opening:
            if self.sensing:
                return
            await self.kind.begin()
            element("parts").replaceChildren()
            self.sensing, self.steady = True, {}
            self.show_state()
            self.following = asyncio.ensure_future(self.page.attempt(self.follow))

    async def end_sensing(self):
        """Close the camera or the microphone after what it senses now."""
        if self.sensing:
            self.sensing = False
            self.kind.end()
            await self.following

    async def follow(self):
        """Show what is sensed, and what the model takes it for, until that is to end."""
        try:
            async for content in self.kind.sense():
                if not self.sensing:
                    break
                await self.ask(content)
        finally:
            self.sensing = False
            await self.kind.close()
            self.show_state()

    def show_state(self):
        """Offer to start what senses, or to stop it; meanwhile small screens keep it in sight."""
        element("start").hidden, element("stop").hidden = self.sensing, not self.sensing
        document.querySelector(".teaching").classList.toggle("sensing", self.sensing)
