"""The Iris dataset (Fisher 1936), shipped inside the package.

R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7,
179-188 (1936). `iris.csv` holds the values of scikit-learn's copy (BSD-3-Clause), which agree with
the paper; the copy of the UCI repository differs in two rows (35 and 38, counted from 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError, suggestion
from webnnm.data.dataset import Dataset

FEATURES = ("sepal_length", "sepal_width", "petal_length", "petal_width")
SPECIES = ("setosa", "versicolor", "virginica")


@require_await_of_methods("dataset")
class IrisDataset(Dataset):
    """The Iris dataset: 150 flowers of three species with four measurements in cm (spec G.7).

    >>> import asyncio
    >>> iris = asyncio.run(IrisDataset.create())
    >>> iris.size("training"), iris.size("testing"), iris.labels()
    (105, 45, ['setosa', 'versicolor', 'virginica'])
    """

    @classmethod
    async def create(
        cls,
        url: str | Path | None = None,
        batch_size: int = 20,
        split: Sequence[Any] = (0.7, 0, 0.3),
        seed: int = 0,
        standardize: bool | Sequence[str] = False,
        *,
        text: str | None = None,
        **options: Any,
    ) -> IrisDataset:
        """Load the flowers and split them; both the input and the output are named "model".

        `url` (or a path) or `text` gives other data with the same columns and a header row. Further
        options, such as `method`, are those of `Dataset`. The species are one-hot, float32 `[3]`.
        Raises `DataError` NNM713 if the text is not such a table, NNM715 if the URL cannot be read.
        """
        if url is not None and text is None:
            text = await _read(url)
        measurements, species = _load_bundled() if text is None else parse(text)
        return cls(
            measurements,
            [[float(number == row) for number in range(len(SPECIES))] for row in species],
            name="iris",
            labels=SPECIES,
            features=FEATURES,
            batch_size=batch_size,
            split=split,
            seed=seed,
            standardize=standardize,
            **options,
        )


def parse(text: str) -> tuple[list[list[float]], list[int]]:
    """Return measurements and species numbers of a table with Iris' columns, in any order.

    >>> parse("species,sepal_length,sepal_width,petal_length,petal_width\\nsetosa,5.1,3.5,1.4,0.2")
    ([[5.1, 3.5, 1.4, 0.2]], [0])
    """
    from webnnm.data.tables.column_reading import read_column
    from webnnm.data.tables.csv_table import read_csv

    table = read_csv(text, header=True)
    required = (*FEATURES, "species")
    missing = [column for column in required if column not in table.names]
    if missing:
        raise DataError(
            "NNM713",
            f"row 1 does not name the column {', '.join(missing)}",
            hint=f"a header row names {', '.join(required)}",
        )
    measurements = [read_column(table, table.index(name), numeric=True) for name in FEATURES]
    for column in measurements:
        if column.missing:
            position = table.place(column.missing[0], table.index(column.name))
            raise DataError("NNM713", f"{position} is empty")
    index = table.index("species")
    for row, cell in enumerate(table.columns[index]):
        if cell.strip() not in SPECIES:
            raise DataError(
                "NNM713",
                f'{table.place(row, index)} is "{cell}"',
                hint=suggestion(cell, SPECIES) or f"available: {', '.join(SPECIES)}",
            )
    rows = zip(*(column.numbers or () for column in measurements), strict=True)
    return list(map(list, rows)), [SPECIES.index(cell.strip()) for cell in table.columns[index]]


async def _read(url: str | Path) -> str:
    from webnnm.data.files.source import read_text

    return await read_text(url)


def _load_bundled() -> tuple[list[list[float]], list[int]]:
    """Return what `parse` does for the package's own file, whose form is known."""
    # importlib.resources does the same, but importing it takes a page longer than training.
    loader: Any = __loader__
    text = loader.get_data(str(Path(__file__).with_name("iris.csv"))).decode()
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return [[*map(float, row[:4])] for row in rows], [SPECIES.index(row[4]) for row in rows]
