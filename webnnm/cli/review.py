"""The command `review`: the findings of the expert system before a training."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from webnnm.cli.common import (
    FINE,
    WRONG,
    Parsers,
    add_hyperparameters,
    add_model,
    add_references,
    add_table,
    command,
    hyperparameters,
    model_document,
    print_json,
    problem,
    silenced,
    table,
)
from webnnm.cli.option_hints import as_options, options_of
from webnnm.core.errors import DataError
from webnnm.core.finding import SEVERITIES, Finding
from webnnm.expert.reviewer import NON_FINITE, Draft, review
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


def _review(given: argparse.Namespace) -> int:
    network = elaborate(model_document(given.model, given.references))
    try:
        draft = Draft(network, table(given) if given.data else None, length=given.length)
    except DataError as error:
        if error.code != NON_FINITE:
            raise
        draft = Draft(network, wrong=error)
    found = review(draft, None, hyperparameters(given), silence=silenced(given))
    names = options_of(given.parser)
    found = replace(
        found, findings=[replace(f, remedy=as_options(f.remedy, names)) for f in found.findings]
    )
    if given.json:
        warnings = [problem(warning) for warning in network.warnings]
        print_json({"model": given.model, "warnings": warnings, **found.to_dict()})
    else:
        for warning in network.warnings:
            print(f"warning {warning}")
        print(found)
        print(_tally(found.findings))
    return WRONG if any(f.severity == "error" for f in found.findings) else FINE


def _tally(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each severity."""
    severities = [finding.severity for finding in findings]
    counts = [f"{severities.count(s)} {s}" for s in SEVERITIES if s in severities]
    return f"Findings: {', '.join(counts) or 'none'}"
