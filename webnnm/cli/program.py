"""The program: reads a command line, has a command carry it out, tells errors by exit codes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from webnnm.cli import (
    convert,
    export,
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
from webnnm.cli.common import FINE, INTERRUPTED, USAGE, WRONG, print_json, problems
from webnnm.errors import WebNNMError

COMMANDS = (texts, show, review, operators, train, test, predict, export, convert, serve, probe)
"""Modules of commands, in the order of the help; each has `add`."""

OF_THE_COMMAND = ("NNM703", "NNM704", "NNM709", "NNM710", "NNM715", "NNM807", "NNM808", "NNM903")
"""Errors in what was asked for rather than in model or data."""


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

    `docs/command-line.md` tells of all commands. A MODEL is a path, a URL or `-` for the standard
    input. With `--json` the result is JSON. Results go to the standard output, what is told on the
    way to the error stream.

    The exit code is 0 where nothing is wrong, 1 for an error in model or data and for a finding of
    severity error, 2 for a command that cannot be carried out: wrong words or values, a file that
    cannot be read or written. It is 130 where Ctrl-C ended the command before its result.
    """
    given = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console may lack some characters
            stream.reconfigure(errors="replace")
    try:
        code: int = given.run(given)
        sys.stdout.flush()  # here, where a reader that has left is expected
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as error:
        print(error, file=sys.stderr)
        return USAGE
    except WebNNMError as error:
        if given.json:
            print_json({"model": getattr(given, "model", None), "errors": problems(error)})
        else:
            for each in (error, *error.others):
                print(each, file=sys.stderr)
        return USAGE if error.code in OF_THE_COMMAND else WRONG


def parser() -> argparse.ArgumentParser:
    """Return the parser of command lines."""
    made = argparse.ArgumentParser(prog="webnnm", description="Neural networks in WebNNM text.")
    commands = made.add_subparsers(required=True, metavar="COMMAND", dest="command")
    made.set_defaults(json=False)
    for module in COMMANDS:
        module.add(commands)
    return made
