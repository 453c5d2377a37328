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
        arguments, rest = self.parse_known_args(args, namespace)
        if rest:
            arguments.parser.error(f"unrecognized arguments: {' '.join(rest)}")
        return arguments

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Do the same, and also return the unknown arguments."""
        self._words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what may have been meant, and end the program."""
        self.print_usage(sys.stderr)
        hint = next(self._suggest(), "")
        text = f"{self.prog}: error: {message}\n"
        self.exit(USAGE, f"{text}hint: {hint}\n" if hint else text)

    def _suggest(self) -> Iterator[str]:
        """Yield a suggestion for every unknown argument."""
        commands = [a for a in self._actions if isinstance(a.choices, dict)]
        for argument in self._words:
            name = argument.partition("=")[0]
            if commands and not argument.startswith("-"):
                names = list(commands[0].choices or ())
                if argument not in names and (hint := suggestion(argument, names)):
                    yield hint
                return  # what follows belongs to a command
            if argument.startswith("--") and name not in self._option_string_actions:
                hint = suggestion(name, self._option_string_actions)
                yield from [hint] * bool(hint)
