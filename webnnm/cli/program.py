"""The program: reads a command line, runs a command, reports errors by exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from webnnm.cli import (
    convert,
    describe,
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
    suggest,
    test,
    texts,
    train,
)
from webnnm.cli.arguments import USAGE, Parser
from webnnm.cli.common import ERROR, INTERRUPTED, CommandError, print_json, problems, say
from webnnm.cli.option_hints import OF_EXPORTS, OF_FILES, as_options, options_of
from webnnm.cli.output import lasting
from webnnm.cli.output_paths import check_places
from webnnm.core.errors import ModelError, WebNNMError, split_errors

COMMANDS = (
    texts,
    show,
    review,
    gradcheck,
    explain,
    operators,
    describe,
    suggest,
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
        code = _run_command(arguments)
    if output is not None and output.lost:
        say(f"the output cannot be written: {output.lost.strerror}")
        return USAGE
    return code


def _run_command(arguments: Sequence[str] | None) -> int:
    namespace = parser().parse_args(arguments)
    try:
        check_places(namespace)
        code: int = namespace.run(namespace)
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        say(str(error))
        return USAGE
    except WebNNMError as error:
        names = options_of(getattr(namespace, "parser", None))
        for part in (error, *error.others):
            of_text = isinstance(part, ModelError) and not part.code.startswith(OF_EXPORTS)
            options = names & OF_FILES if of_text else names
            part.hint = as_options(part.hint, options)
        if namespace.json:
            print_json({"model": getattr(namespace, "model", None), "errors": problems(error)})
        else:
            for part in split_errors(error):
                say(str(part))
        is_usage_error = error.code in OF_THE_COMMAND or isinstance(error, CommandError)
        return USAGE if is_usage_error else ERROR


class Version(argparse.Action):
    """Prints the version of the package and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Look up the version only when it is requested, not at every start."""
        print(f"webnnm {probe.version_of('webnnm') or 'of a checkout'}")
        parser.exit()


def parser() -> Parser:
    """Return the parser of command lines."""
    result = Parser(prog="webnnm", description="Neural networks as WebNNM text.")
    result.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = result.add_subparsers(required=True, metavar="COMMAND", dest="command")
    result.set_defaults(json=False)
    for module in COMMANDS:
        module.add(commands)
    return result
