"""The program: reads a command line, runs a command, reports errors by exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from webnnm.cli import (
    convert,
    explain,
    export,
    gradcheck,
    new,
    operators,
    predict,
    probe,
    review,
    serve,
    show,
    test,
    texts,
    train,
)
from webnnm.cli.arguments import USAGE, Parser
from webnnm.cli.common import INTERRUPTED, WRONG, CommandError, print_json, problems, say
from webnnm.cli.option_hints import OF_FILES, as_options, options_of
from webnnm.cli.output import lasting
from webnnm.cli.places import check_places
from webnnm.core.errors import ModelError, WebNNMError, split_errors

COMMANDS = (
    texts,
    show,
    review,
    gradcheck,
    explain,
    operators,
    train,
    test,
    predict,
    export,
    convert,
    new,
    serve,
    probe,
)
"""Modules of commands, in the order of the help; each has `add`."""

OF_THE_COMMAND = ("NNM703", "NNM704", "NNM709", "NNM715", "NNM807", "NNM808", "NNM903")
"""Errors in the request rather than in model or data, wherever they come from."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line, print the result, and return the exit code.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "m.nnm")
    ...     _ = path.write_text("m:input shape = [4,]; m:layers relu( );")
    ...     main(["format", str(path)])
    m:input shape=[4];
    m:layers
      relu();
    0

    `docs/command-line.md` describes all commands. A MODEL is a path, a URL or `-` for the standard
    input. With `--json` the result is JSON. Results go to the standard output, messages to the
    error stream.

    The exit code is 0 if nothing is wrong, 1 for an error in model or data and for a finding of
    severity error, 2 for a command that cannot be carried out: wrong words or values, a file that
    cannot be read or written, or is of another kind. It is 130 if Ctrl-C ended the command before
    its result. A reader that closes the output early changes nothing else.
    """
    with lasting() as output:
        code = _carried_out(arguments)
    if output is not None and output.lost:
        say(f"the output cannot be written: {output.lost.strerror}")
        return USAGE
    return code


def _carried_out(arguments: Sequence[str] | None) -> int:
    given = parser().parse_args(arguments)
    try:
        check_places(given)
        code: int = given.run(given)
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        say(str(error))
        return USAGE
    except WebNNMError as error:
        names = options_of(getattr(given, "parser", None))
        for each in (error, *error.others):
            own = names & OF_FILES if isinstance(each, ModelError) else names
            each.hint = as_options(each.hint, own)
        if given.json:
            print_json({"model": getattr(given, "model", None), "errors": problems(error)})
        else:
            for each in split_errors(error):
                say(str(each))
        asked = error.code in OF_THE_COMMAND or isinstance(error, CommandError)
        return USAGE if asked else WRONG


class Version(argparse.Action):
    """Prints the version of the package and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Look up the version only when it is requested, not at every start."""
        print(f"webnnm {probe.version_of('webnnm') or 'of a checkout'}")
        parser.exit()


def parser() -> Parser:
    """Return the parser of command lines."""
    made = Parser(prog="webnnm", description="Neural networks as WebNNM text.")
    made.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = made.add_subparsers(required=True, metavar="COMMAND", dest="command")
    made.set_defaults(json=False)
    for module in COMMANDS:
        module.add(commands)
    return made
