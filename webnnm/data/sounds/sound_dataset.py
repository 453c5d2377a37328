"""Datasets of sounds: samples of one channel at one rate, all of one length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.dataset import Dataset
from webnnm.data.files.labelled_files import (
    LabelledFiles,
    list_folder,
    list_names,
    list_table,
    number_labels,
)
from webnnm.data.sounds.listening import ENDINGS, cut_loudest, load_samples
from webnnm.data.sounds.sound import Sound
from webnnm.ops.declare.mel import RATE

if TYPE_CHECKING:
    from webnnm.data.files.references import Roots

Unreadable = Literal["error", "skip"]

MAX_SECONDS = 10.0
"""The length of sounds that is chosen at most."""
COVERED = 0.9
"""The share of sounds that are not cut at the length that is chosen."""


@dataclass(frozen=True, slots=True)
class SoundReport:
    """What was read from files.

    >>> print(SoundReport(20, 16000, 1.0, "9 of 10 are no longer"))
    20 sounds of 1 s, 16,000 samples per second (9 of 10 are no longer)

    Attributes: `sounds`, their number; `rate`, samples per second; `seconds`, the length; `why`,
    the reason for the length, "" if it was chosen; `skipped`, the files that are no sounds;
    `ignored`, files whose names end otherwise.
    """

    sounds: int
    rate: int
    seconds: float
    why: str = ""
    skipped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.sounds} sounds of {self.seconds:g} s, {self.rate:,} samples per second"
        lines = [text + (f" ({self.why})" if self.why else "")]
        if self.skipped:
            lines.append(f"{len(self.skipped)} skipped: {list_names(self.skipped)}")
        if self.ignored:
            lines.append(f"{len(self.ignored)} of other kinds: {list_names(self.ignored)}")
        return "; ".join(lines)


@require_await_of_methods("dataset")
class SoundDataset(Dataset):
    """A dataset of sounds with labels, for classification or any other output.

    >>> from webnnm import Sound
    >>> beeps = [Sound([0.0, 0.5, -0.5, 0.0], 8000), Sound([0.1] * 6, 8000)]
    >>> data = SoundDataset(beeps, ["tick", "hum"], rate=8000, split=(1, 0, 0))
    >>> data.inputs["model"].shape, data.rate
    ((6,), 8000)

    - `sounds`: a list of `Sound` or of lists of samples at the rate, or an array `[rows, length]`.
    - `labels`: one per sound: class numbers, class names (numbered in alphabetical order), or any
      output that `Dataset` accepts.
    - `rate`: samples per second.
    - `seconds`: the length of all sounds: of longer ones the loudest part is taken, shorter ones
      get silence on both sides. By default that of the longest sound, but at most 10, and so that
      nine of ten are not cut.

    Further options are those of `Dataset`; `class_names` are its `labels`. Sounds of files are read
    by `from_folder`, `from_files` and `from_csv`. The rate and the length are kept with the model,
    so that `predict` takes files and sounds of any length. Raises the errors of `Dataset`, and
    `DataError` NNM702 for sounds of another rate.

    Attributes, besides those of `Dataset`: `rate`; of files `file_report`, what was read.
    """

    file_report: SoundReport | None = None

    def __init__(
        self,
        sounds: Any,
        labels: Any,
        *,
        rate: int = RATE,
        seconds: float | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "sounds",
        **options: Any,
    ) -> None:
        if not is_integer(rate) or rate < 1:
            raise DataError("NNM704", f"rate is {rate!r}", hint="samples per second, at least 1")
        arrays = [_read_samples(row, sound, rate) for row, sound in enumerate(sounds)]
        if not arrays:
            raise DataError("NNM705", "there are no sounds", hint="give at least one")
        length, _ = _find_length(arrays, rate, seconds)
        rows = [cut_loudest(samples, length) for samples in arrays]
        self.rate = rate
        super().__init__(
            concatenate([HostArray("float32", (1, length), row.data) for row in rows]),
            labels,
            name=name,
            labels=class_names,
            **options,
        )

    @classmethod
    async def from_folder(cls, folder: Any, **options: Any) -> Self:
        """Read the sounds `label/name.wav` of a folder or a zip archive.

        >>> async def load():
        ...     return await SoundDataset.from_folder("words", seconds=1)

        - `folder`: a path; of an archive also its address, its bytes or an open file. Folders named
          train, validation and test, each with folders of labels, are the subsets. Hidden files
          and those with endings of other kinds are ignored.

        All other options are those of `from_files`. Raises its errors, and `DataError` NNM706 for a
        sound that is in no folder, NNM715 if there are no sounds.
        """
        files = await list_folder(folder, ENDINGS)
        if isinstance(folder, (str, Path)):
            options.setdefault("name", Path(folder).stem)
        return await cls._read(files, **options)

    @classmethod
    async def from_csv(
        cls,
        table: Any,
        *,
        file: str | None = None,
        label: str | None = None,
        folder: str | Path | None = None,
        references: Roots = None,
        **options: Any,
    ) -> Self:
        """Read the sounds that a column of a CSV table names.

        - `table`: its path or address, its bytes or an open file.
        - `file` and `label`: names of columns, by default the first and the last one.
        - `folder`: what the names are relative to, by default the folder of the table.
        - `references`: "anywhere" or another folder, for names that lead out of this one.

        All other options are those of `from_files`. Raises its errors, those of `read_csv`, and
        `DataError` NNM710 for an unknown column, NNM809 for names that lead elsewhere.
        """
        return await cls._read(await list_table(table, file, label, folder, references), **options)

    @classmethod
    async def from_files(
        cls,
        files: Sequence[Any],
        labels: Sequence[Any] | Callable[[str], Any],
        *,
        rate: int = RATE,
        seconds: float | None = None,
        unreadable: Unreadable = "error",
        **options: Any,
    ) -> Self:
        """Read sounds of any rate and length.

        - `files`: paths, addresses, bytes of files, or `Sound`s.
        - `labels`: one per file, or a function that returns the label for a file's name.
        - `rate`: samples per second; sounds of another rate are resampled.
        - `seconds`: as in `SoundDataset`.
        - `unreadable`: "error", or "skip" for files that are no sounds; `file_report` names them.

        All other options are those of `SoundDataset`. Raises its errors, `DataError` NNM704 for
        invalid options, NNM715, NNM801 and NNM802 for files that cannot be read, and `BackendError`
        NNM709 if a package is missing that reads them (on desktops `soundfile` for all but WAV).
        """
        names = [
            str(one) if isinstance(one, (str, Path)) else f"sound {row}"
            for row, one in enumerate(files)
        ]
        texts = [labels(name) for name in names] if callable(labels) else labels
        listed = LabelledFiles(names, files, texts)
        return await cls._read(listed, rate=rate, seconds=seconds, unreadable=unreadable, **options)

    @classmethod
    async def _read(
        cls,
        files: LabelledFiles,
        *,
        rate: int = RATE,
        seconds: float | None = None,
        unreadable: Unreadable = "error",
        **options: Any,
    ) -> Self:
        if unreadable not in get_args(Unreadable):
            raise DataError("NNM704", f'unreadable is "{unreadable}"', hint='"error" or "skip"')
        if len(files.sources) != len(files.labels):
            counts = f"{len(files.sources)} files, {len(files.labels)} labels"
            raise DataError("NNM702", counts, hint="give one label per file")
        kept, arrays, skipped = list[int](), list[HostArray](), list[str]()
        for row, (source, name) in enumerate(zip(files.sources, files.names, strict=True)):
            try:
                arrays.append(await load_samples(source, name, rate))
            except DataError as error:
                if unreadable == "error":
                    hint = 'remove it, or leave it out by unreadable="skip"'
                    raise DataError(error.code, error.message, hint=hint) from error
                skipped.append(name)
            else:
                kept.append(row)
        if not arrays:
            raise DataError("NNM705", "there are no sounds", hint="give at least one")
        length, why = _find_length(arrays, rate, seconds)
        rest = files.select(kept)
        if rest.split is not None:
            options.setdefault("split", rest.split)
        labels, names = number_labels(rest.labels, options.pop("class_names", None))
        dataset = cls(
            arrays, labels, rate=rate, seconds=length / rate, class_names=names, **options
        )
        dataset.file_report = SoundReport(
            len(arrays), rate, length / rate, why, tuple(skipped), files.ignored
        )
        return dataset


def _read_samples(row: int, sound: Any, rate: int) -> HostArray:
    """Return the samples of a sound of a rate."""
    if isinstance(sound, HostArray) and len(sound.shape) == 1 and sound.dtype == "float32":
        return sound
    if not isinstance(sound, Sound):
        return Sound(sound, rate).samples
    if sound.rate != rate:
        raise DataError(
            "NNM702",
            f"sound {row} has {sound.rate} samples per second, the dataset {rate}",
            hint="await SoundDataset.from_files(sounds, labels, rate=…) resamples them",
        )
    return sound.samples


def _find_length(arrays: Sequence[HostArray], rate: int, seconds: float | None) -> tuple[int, str]:
    """Return a number of samples, and why."""
    lengths = sorted(len(samples) for samples in arrays)
    if seconds is not None:
        if not 0 < seconds < math.inf or round(seconds * rate) < 1:
            raise DataError("NNM704", f"seconds is {seconds!r}", hint="a length above 0")
        return round(seconds * rate), ""
    limit = round(MAX_SECONDS * rate)
    longest = lengths[-1]
    if lengths[0] == longest and 0 < longest <= limit:
        return longest, "as all sounds are"
    covered = lengths[math.ceil(COVERED * len(lengths)) - 1]
    if covered > limit:
        return limit, f"the longest are {longest / rate:.1f} s; seconds= sets another length"
    return max(1, covered), "nine of ten are no longer"
