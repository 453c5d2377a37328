"""The list of all cases, and the decorators by which the modules of this package add to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.teach.setup import Setup

Make = Callable[[], Setup]
Mend = Callable[[Setup], Setup]


@dataclass(frozen=True)
class Case:
    """A program with one mistake, or a sound one.

    Attributes: `name`; `area`, the module that it is from; `about`, what is wrong, or what it is;
    `make` makes the program. Of a mistake alone: `remedy`, what would mend it; `mend`, the program
    without it, whose score is higher; or `why` no score can tell (then `mend` may be None);
    `named_by`, the findings and errors that tell this mistake: ("E603", "NNM706").
    """

    name: str
    area: str
    about: str
    make: Make
    remedy: str = ""
    mend: Mend | None = None
    why: str = ""
    named_by: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.remedy

    def mended(self) -> Setup | None:
        """Return the program without the mistake, None where there is none to compare with."""
        return None if self.mend is None else self.mend(self.make())


CASES: dict[str, Case] = {}
"""Name → case, in the order of the modules."""


def mistake(
    about: str,
    *,
    remedy: str,
    mended: Mend | None = None,
    why: str = "",
    named_by: tuple[str, ...] = (),
) -> Callable[[Make], Make]:
    """Return a decorator that lists a function as a program with this mistake."""
    if mended is None and not why:
        raise ValueError(f"neither a mended program nor a reason: {about}")
    return lambda make: _list(make, about, remedy=remedy, mend=mended, why=why, named_by=named_by)


def sound(about: str) -> Callable[[Make], Make]:
    """Return a decorator that lists a function as a program without a mistake."""
    return lambda make: _list(make, about)


def _list(make: Make, about: str, **rest: Any) -> Make:
    name = make.__name__
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    area = make.__module__.rpartition(".")[2]
    CASES[name] = Case(name, area, about, make, **rest)
    return make
