"""A parser of command lines that suggests what may have been meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from webnnm.core.errors import suggestion

USAGE = 2
"""The exit code of a command that cannot be carried out."""


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors suggest commands and options that exist.

    >>> parser = Parser(prog="p")
    >>> _ = parser.add_argument("--epochs")
    >>> parser.parse_args(["--epoch", "3"])                                    # doctest: +SKIP
    usage: p [-h] [--epochs EPOCHS]
    p: error: unrecognized arguments: --epoch 3
    hint: did you mean "--epochs"?
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self._words: list[str] = []
        self.set_defaults(parser=self)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed command line; errors of a command show its usage."""
        given, rest = self.parse_known_args(args, namespace)
        if rest:
            given.parser.error(f"unrecognized arguments: {' '.join(rest)}")
        return given

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Do the same, and also return the unknown arguments."""
        self._words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what may have been meant, and end the program."""
        self.print_usage(sys.stderr)
        hint = next(self._meant(), "")
        told = f"{self.prog}: error: {message}\n"
        self.exit(USAGE, f"{told}hint: {hint}\n" if hint else told)

    def _meant(self) -> Iterator[str]:
        """Yield a suggestion for every unknown word."""
        commands = [a for a in self._actions if isinstance(a.choices, dict)]
        for word in self._words:
            name = word.partition("=")[0]
            if commands and not word.startswith("-"):
                known = list(commands[0].choices or ())
                if word not in known and (hint := suggestion(word, known)):
                    yield hint
                return  # what follows belongs to a command
            if word.startswith("--") and name not in self._option_string_actions:
                hint = suggestion(name, self._option_string_actions)
                yield from [hint] * bool(hint)
