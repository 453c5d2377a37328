"""The command `review`: the findings of the expert system before a training."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from webnnm.cli.common import (
    ERROR,
    OK,
    Parsers,
    add_hyperparameters,
    add_model,
    add_references,
    add_table,
    command,
    hyperparameters,
    model_document,
    parse_silenced_rules,
    print_json,
    problem,
    table,
)
from webnnm.cli.option_hints import as_options, options_of
from webnnm.core.errors import DataError
from webnnm.core.finding import SEVERITIES, Finding
from webnnm.expert.reviewer import NON_FINITE_ERROR, Draft, review
from webnnm.graph.elaboration.elaborate import elaborate


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = "webnnm review MODEL [--data CSV] [--json] [options]"
    one = command(
        commands, "review", "check a model and its data before training", _review, usage=usage
    )
    add_model(one)
    add_references(one)
    add_table(one)
    one.add_argument(
        "--length", type=int, metavar="N", help="positions of a sequence, if no data determine it"
    )
    add_hyperparameters(one)
    one.add_argument(
        "--verbose", action="store_true", help="show notes and all settings, with their origins"
    )


def _review(arguments: argparse.Namespace) -> int:
    network = elaborate(model_document(arguments.model, arguments.references))
    try:
        draft = Draft(
            network, table(arguments) if arguments.data else None, length=arguments.length
        )
    except DataError as error:
        if error.code != NON_FINITE_ERROR:
            raise
        draft = Draft(network, wrong=error)
    result = review(
        draft, None, hyperparameters(arguments), silence=parse_silenced_rules(arguments)
    )
    names = options_of(arguments.parser)
    result = replace(
        result, findings=[replace(f, remedy=as_options(f.remedy, names)) for f in result.findings]
    )
    if arguments.json:
        warnings = [problem(warning) for warning in network.warnings]
        print_json({"model": arguments.model, "warnings": warnings, **result.to_dict()})
    else:
        for warning in network.warnings:
            print(f"warning {warning}")
        print(result.describe() if arguments.verbose else result.shorten("--verbose shows them"))
        print(_tally(result.findings))
    return ERROR if any(f.severity == "error" for f in result.findings) else OK


def _tally(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each severity."""
    severities = [finding.severity for finding in findings]
    counts = [f"{severities.count(s)} {s}" for s in SEVERITIES if s in severities]
    return f"Findings: {', '.join(counts) or 'none'}"
