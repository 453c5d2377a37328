"""The command `predict`: the predictions of a snapshot for rows."""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from webnnm.cli.common import (
    OK,
    CommandError,
    Parsers,
    add_backend,
    add_dialect,
    add_model,
    check_table,
    command,
    open_model,
    read_standard_bytes,
)
from webnnm.cli.output_paths import write
from webnnm.cli.rows import csv_table, json_rows
from webnnm.core.errors import DataError
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.pictures.boxes import COORDINATES
from webnnm.evaluation.history import plain
from webnnm.model.nnmodel import NNModel
from webnnm.model.prepared_data import encode_inputs, find_form
from webnnm.runtime.inference.answers import Prediction
from webnnm.runtime.inference.detections import Detections
from webnnm.runtime.inference.forecasting import Forecast
from webnnm.runtime.restored import Restored

ORDINALS = ("predicted", "second", "third", "fourth", "fifth")
"""The columns of the likeliest classes of a row."""
MAX_CLASSES = len(ORDINALS)
"""Of more classes, only so many are printed."""


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "predict", "print the predictions of a snapshot", _predict)
    add_model(one, help="path of a snapshot")
    one.add_argument(
        "rows",
        metavar="ROWS",
        nargs="*",
        default=["-"],
        help="path or URL of a table or of JSON, or those of pictures or sounds; or - for the "
        "standard input, the default",
    )
    help = "continue the series of the training by N steps"
    one.add_argument("--steps", type=int, metavar="N", help=help)
    add_dialect(one)
    help = f"the probabilities of all classes; default: of more than {MAX_CLASSES} the likeliest"
    one.add_argument("--all-classes", action="store_true", help=help)
    one.add_argument("--out", metavar="FILE", help="default: the output")
    one.add_argument("--batch-size", type=int, metavar="N", help="rows computed at a time")
    add_backend(one)


def _predict(arguments: argparse.Namespace) -> int:
    answers, target = asyncio.run(_predict_rows(arguments))
    if isinstance(answers, Detections):
        text = _write_boxes(answers, arguments.rows, as_json=arguments.json)
    elif isinstance(answers, Forecasts):
        text = _write_forecasts(answers, as_json=arguments.json)
    elif arguments.json:
        text = json.dumps(plain(answers), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    else:
        text = _csv(answers, target, all_classes=arguments.all_classes)
    if arguments.out is None:
        print(text, end="")
    else:
        write(arguments.out, text)
    return OK


class Forecasts(NamedTuple):
    """The forecasts of series by id, or that of the only one under any name."""

    by_id: dict[str, Forecast]
    several: bool


async def _predict_rows(
    arguments: argparse.Namespace,
) -> tuple[dict[str, Any] | Forecasts | Detections, str]:
    """Return output → its numbers, and the class of every row if there are classes; with the column
    of the training table that is predicted, "" if it had none."""
    for path in arguments.rows:
        check_table(path)
    async with await open_model(arguments.model, learnt=True, backend=arguments.backend) as model:
        target = (model.state.restored or Restored()).label
        form = find_form(model.state)
        series = form is not None and form.series is not None
        if arguments.steps is not None and not series:
            message = "--steps continues a series, and this model is of none"
            raise CommandError("NNM704", message, hint="leave it out, and give rows")
        if form is not None and (form.fit or form.rate) and arguments.rows != ["-"]:
            answer = await model.predict(arguments.rows)
            if isinstance(answer, Detections):
                return answer, target
            return {model.outputs()[0]: _answer(answer)}, target
        if len(arguments.rows) > 1:
            raise CommandError("NNM704", f"{len(arguments.rows)} tables at once", hint="give one")
        if arguments.steps is not None and arguments.rows == ["-"]:
            return _list_forecasts(await model.predict(arguments.steps)), target
        rows = await _read_rows(model, arguments)
        if series:
            return _list_forecasts(await model.predict(rows, steps=arguments.steps)), target
        inputs = encode_inputs(model.state, rows)
        values = await model.predict(inputs, batch_size=arguments.batch_size)
        return {name: _answer(answer) for name, answer in values.items()}, target


async def _read_rows(model: NNModel, arguments: argparse.Namespace) -> Any:
    """Return the rows of a table or of JSON."""
    [path] = arguments.rows
    source: Any = read_standard_bytes() if path == "-" else await read_bytes(path)
    if source[:4096].lstrip()[:1] in ("[", "{", b"[", b"{"):
        return json_rows(source)
    return csv_table(source, arguments, model.state.restored or Restored(), model.inputs()[0])


def _list_forecasts(result: Any) -> Forecasts:
    """Return the forecasts of one or of several series."""
    if isinstance(result, dict):
        return Forecasts(cast("dict[str, Forecast]", result), several=True)
    return Forecasts({"": result}, several=False)


def _answer(output: Any) -> dict[str, Any]:
    if not isinstance(output, Prediction):
        return {"values": plain(output)}
    values = plain(output.probabilities)
    return {"predicted": output.classes, "classes": list(output.labels), "values": values}


def _write_boxes(detections: Detections, files: Sequence[str], *, as_json: bool) -> str:
    """Return the boxes of each picture as rows, or as JSON."""
    if as_json:
        content = [
            {"picture": file, "boxes": [box._asdict() for box in boxes]}
            for file, boxes in zip(files, detections, strict=True)
        ]
        return json.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["picture", "label", "score", *COORDINATES])
    for file, boxes in zip(files, detections, strict=True):
        for *numbers, label, score in boxes:
            writer.writerow([file, label, *(f"{number:.7g}" for number in (score, *numbers))])
    return text.getvalue()


def _write_forecasts(forecasts: Forecasts, *, as_json: bool) -> str:
    """Return the steps of each series as rows, or as JSON."""
    if as_json:
        contents = {name: one.to_dict() for name, one in forecasts.by_id.items()}
        content = contents if forecasts.several else next(iter(contents.values()))
        return json.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    first = next(iter(forecasts.by_id.values()))
    levels = [f"{level:g}" for level in first.quantiles]
    writer.writerow([*(["series"] * forecasts.several), "time", *first.targets, *levels])
    for name, one in forecasts.by_id.items():
        values = one.tolist()
        for step, time in enumerate(one.times):
            row = values[step] if isinstance(values[step], list) else [values[step]]
            row = [*row, *(levels[step] for levels in one.quantiles.values())]
            cells = [time, *(f"{number:.7g}" for number in row)]
            writer.writerow([*([name] * forecasts.several), *cells])
    return text.getvalue()


def _csv(answers: dict[str, dict[str, Any]], target: str, *, all_classes: bool) -> str:
    """Return one row per row: the class if there are classes, then the numbers; those of the only
    output under the name of its `target`, if there is one."""
    columns: dict[str, Sequence[Any]] = {}
    for name, answer in answers.items():
        prefix = f"{name}." if len(answers) > 1 else ""
        is_one_of_many = len(answer.get("classes", ())) > MAX_CLASSES and not any(
            isinstance(value, list) for value in answer["predicted"]
        )
        if is_one_of_many and not all_classes:
            columns |= _rank(answer["classes"], answer["values"], prefix)
            continue
        if _has_positions(answer.get("predicted", ())):
            what = f'output "{name}" has a class for each pixel, which is no row of a table'
            raise DataError("NNM704", what, hint=_JSON)
        if "predicted" in answer:
            columns[f"{prefix}predicted"] = [_cell(value) for value in answer["predicted"]]
        rows = [_flat(row) for row in answer["values"]]
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            raise DataError("NNM704", f'output "{name}" has rows of different lengths', hint=_JSON)
        classes = answer.get("classes", ())
        labels = classes if len(classes) == width else range(width)
        for index, label in enumerate(labels):
            only = target if target and not prefix else name
            heading = f"{prefix}{label}" if classes or width > 1 else only
            columns[heading] = [f"{row[index]:.7g}" for row in rows]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _rank(
    classes: Sequence[Any], rows: Sequence[Sequence[float]], prefix: str
) -> dict[str, Sequence[Any]]:
    """Return the columns of the likeliest classes of rows of probabilities, the likeliest first.

    >>> columns = _rank([*"abcdef"], [[0.1, 0.4, 0.25, 0.125, 0.0625, 0.0625]], "")
    >>> [*columns.items()][:3]
    [('predicted', ['b']), ('probability', ['0.4']), ('second', ['c'])]
    """
    orders = [
        sorted(range(len(classes)), key=lambda index: -row[index])[:MAX_CLASSES] for row in rows
    ]
    columns: dict[str, Sequence[Any]] = {}
    for rank, ordinal in enumerate(ORDINALS):
        probability = f"{ordinal} probability" if rank else "probability"
        columns[f"{prefix}{ordinal}"] = [classes[order[rank]] for order in orders]
        columns[f"{prefix}{probability}"] = [
            f"{row[order[rank]]:.7g}" for row, order in zip(rows, orders, strict=True)
        ]
    return columns


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [number for item in cast("list[Any]", value) for number in _flat(item)]


def _has_positions(classes: Sequence[Any]) -> bool:
    """Return whether each row has classes in several dimensions."""
    return any(
        isinstance(part, list)
        for row in classes
        if isinstance(row, list)
        for part in cast("list[Any]", row)
    )


def _cell(value: Any) -> Any:
    """Return the classes of a row as one cell."""
    return ";".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value


_JSON = "--json prints them as they are"
