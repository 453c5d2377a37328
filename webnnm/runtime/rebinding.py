"""Compares a dataset with the one that a model was trained with: its numbers must mean the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.binding.binding import DataBinding
from webnnm.data.preparation.standardize import Standardization
from webnnm.data.tables.encoding import list_words
from webnnm.runtime.restored import Restored, collect_facts

SAMPLE_ROWS = 64
"""Rows of which the units are looked at."""
SAME_SCALE = 0.05
"""Scales that move no number by more than this many standard deviations are the same."""


def check_meaning(learnt: Restored, binding: DataBinding, log: Callable[[str], None]) -> None:
    """Check that a dataset gives a trained model the numbers that it was trained with.

    `learnt` is what is known about the data of the training. Classes and features must have the
    same places, texts the same tokens, and what was standardised must be so again; other names
    and other statistics are logged.

    Raises `DataError` NNM706 for classes, NNM710 for features, NNM702 for texts, NNM704 for units.
    """
    fresh = collect_facts(binding)
    for block, answers in fresh.answers.items():
        meaning = learnt.answers.get(block)
        if meaning is not None:
            _check_places("NNM706", "class", block, meaning.names, answers.names, log)
    for block, form in fresh.forms.items():
        earlier = learnt.form(block)
        if earlier is None:
            continue
        features = earlier.field.features, form.field.features
        _check_places("NNM710", "feature", block, *features, log)
        _check_places("NNM706", "character", block, earlier.letters, form.letters, log)
        readers = earlier.reader, form.reader
        if all(readers) and len({reader.tokenizer.file for reader in readers if reader}) > 1:
            hint = "tokens=data.reader.tokenizer.file, where data is the dataset of the training"
            message = f'"{block}": the dataset has other tokens than the training of the model'
            raise DataError("NNM702", message, hint=hint)
    _check_scales(learnt, fresh, binding, log)


def _check_places(
    code: str,
    kind: str,
    block: str,
    before: Sequence[str] | None,
    now: Sequence[str] | None,
    log: Callable[[str], None],
) -> None:
    """Check that no name has another place than it had; new names may take places of others."""
    if not before or not now or all(map(str.__eq__, before, now)):
        return
    places = {name: number for number, name in enumerate(before)}
    for number, name in enumerate(now):
        if places.get(name, number) != number:
            raise DataError(
                code,
                f'"{block}": {kind} {number} of the dataset is "{name}", which was {kind} '
                f"{places[name]} when the model was trained",
                hint=f"model.prepare_dataset keeps the order of the training: {list_words(before)}",
            )
    pairs = [pair for pair in zip(before, now, strict=False) if len({*pair}) > 1]
    replaced, names = zip(*pairs, strict=True)
    log(f'"{block}": {kind} {list_words(names)} in place of {list_words(replaced)}')


def _check_scales(
    learnt: Restored, fresh: Restored, binding: DataBinding, log: Callable[[str], None]
) -> None:
    """Check that what was standardised is so again, and log other statistics."""
    take: Any = getattr(binding.dataset, "take", None)
    rows = range(min(SAMPLE_ROWS, binding.dataset.size()))
    samples: Any = take(rows) if take is not None else ({}, {})
    sides = (
        ("input", "standardize", learnt.inputs, fresh.inputs, binding.inputs, samples[0]),
        (
            "output",
            "standardize_targets",
            learnt.targets,
            fresh.targets,
            binding.outputs,
            samples[1],
        ),
    )
    for side, option, before, now, bound, values in sides:
        for block, scale in before.items():
            sample = values.get(bound[block].field) if block in bound else None
            where = f'{side} "{block}"'
            if block in now:
                _compare(where, scale, now[block], log)
            elif sample is not None and scale.seems_misdeclared(sample, scaled=True):
                message = f"{where} was standardised when the model was trained"
                raise DataError("NNM704", message, hint=f"{option}=True")
            elif block in bound:
                log(f"{where} was standardised when the model was trained, and is not now")
        for block in now.keys() - before.keys():
            log(f'{side} "{block}" is standardised, and was not when the model was trained')


def _compare(
    where: str, before: Standardization, now: Standardization, log: Callable[[str], None]
) -> None:
    """Log how far apart two scales are, if they are."""
    if before.scale != now.scale or len(before.mean) != len(now.mean):
        log(f'{where} is scaled by "{now.scale}", and was by "{before.scale}" in the training')
        return
    pairs = zip(before.mean, now.mean, before.std, now.std, strict=True)
    apart = max(max(abs(b - a) / s, abs(t / s - 1)) for a, b, s, t in pairs)
    if apart > SAME_SCALE:
        log(
            f"{where} has other means and deviations than in the training of the model, by up to "
            f"{apart:.2g} standard deviations: train it again before you test it"
        )
