"""Does what a page is asked for, at once or after a pause, and shows the error it ends with."""

import asyncio

import page

PAUSE = 0.2
"""Seconds without a change after which a page looks at what is set."""


class Delayed:
    """Calls its methods once nobody has wanted them anew for a moment."""

    def __init__(self):
        self.waiting = {}

    def soon(self, function):
        """Call a method once nobody has wanted it anew for a moment."""
        name = function.__name__
        if name in self.waiting:
            self.waiting[name].cancel()
        self.waiting[name] = asyncio.ensure_future(self.later(function))

    async def later(self, function):
        """Wait for the pause, and call a method."""
        await asyncio.sleep(PAUSE)
        del self.waiting[function.__name__]
        await show_errors(function())


class Queue:
    """Does what a page is asked for one after the other, however fast somebody clicks."""

    def __init__(self):
        self.turn = asyncio.Lock()

    async def attempt(self, function, *arguments):
        """Await a function once those before it have ended, and show the error it ends with."""
        await attempt(self.run(function, *arguments))

    async def run(self, function, *arguments):
        """Await a function once those before it have ended."""
        async with self.turn:
            await function(*arguments)


async def attempt(doing):
    """Wait for what somebody asked for, and show the error that it ends with, and no older one."""
    page.clear_error()
    await show_errors(doing)


async def show_errors(doing):
    """Wait for something that nobody asked for, and show the error that it ends with."""
    try:
        await doing
    except Exception as error:
        page.show_error(error)
