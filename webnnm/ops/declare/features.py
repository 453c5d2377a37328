"""What is known about a feature shape while shapes are inferred (spec B.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webnnm.core.shapes import MAX_DIMENSION, show

Dims = Sequence[int | None]


class Conflict(Exception):
    """Two facts about a dimension disagree; the layer that met them turns this into an error."""


class Changes:
    """Counts what inference has learnt, so that it knows when nothing new follows."""

    def __init__(self) -> None:
        self.count = 0


class Features:
    """A feature shape whose rank and sizes become known step by step, with names and sequence.

    Attributes: `dims` (None while the rank is unknown, else one size or None per dimension),
    `names` (one word or None per dimension), `sequence` (name of the sequence dimension or None),
    `undeclared` (a new parameter that takes its shape from its use), `renamed` (the names were
    written and stay), `unneeded` (a parameter that its layer turned out not to need).
    """

    __slots__ = ("_changes", "dims", "names", "renamed", "sequence", "undeclared", "unneeded")

    def __init__(
        self,
        changes: Changes,
        dims: Iterable[int | None] | None = None,
        names: Iterable[str | None] | None = None,
        *,
        sequence: str | None = None,
        undeclared: bool = False,
    ) -> None:
        self._changes = changes
        self.dims: list[int | None] | None = None if dims is None else list(dims)
        all_names = tuple(names or ())
        self.names: tuple[str | None, ...] = all_names or (None,) * len(self.dims or ())
        self.sequence = sequence
        self.undeclared = undeclared
        self.renamed = False
        self.unneeded = False

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None while unknown."""
        return None if self.dims is None else len(self.dims)

    @property
    def known(self) -> bool:
        """Whether every size is known."""
        return self.dims is not None and None not in self.dims

    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of a known shape."""
        assert self.dims is not None
        return tuple(size for size in self.dims if size is not None)

    def unify(self, dims: Dims | None) -> None:
        """Take over the sizes that `dims` knows. Raises `Conflict` if they contradict."""
        if dims is None:
            return
        if self.dims is None:
            self.dims = list[int | None]([None] * len(dims))
            self.names = self.names or (None,) * len(dims)
            self._changes.count += 1
        if len(self.dims) != len(dims):
            raise Conflict
        for axis, size in enumerate(dims):
            self.unify_size(axis, size)

    def unify_size(self, axis: int, size: int | None) -> None:
        """Take over the size of one dimension. Raises `Conflict` if it contradicts."""
        assert self.dims is not None
        if size is None or self.dims[axis] == size:
            return
        if self.dims[axis] is not None or not 1 <= size <= MAX_DIMENSION:
            raise Conflict
        self.dims[axis] = size
        self._changes.count += 1

    def set_names(self, names: Iterable[str | None]) -> None:
        """Set the names; if a name occurs twice, its last occurrence becomes unnamed (spec B.4)."""
        if self.renamed:
            return
        seen: set[str] = set()
        result: list[str | None] = []
        for name in names:
            result.append(None if name in seen else name)
            if name is not None:
                seen.add(name)
        if self.names != tuple(result):
            self.names = tuple(result)
            self._changes.count += 1

    def set_sequence(self, name: str | None) -> None:
        """Set the name of the sequence dimension."""
        if self.sequence != name:
            self.sequence = name
            self._changes.count += 1

    def __str__(self) -> str:
        return "[?]" if self.dims is None else show(self.dims)


def equate(a: Features, b: Features) -> None:
    """Unify two shapes: each takes over the sizes that the other knows. Raises `Conflict`."""
    a.unify(b.dims)
    b.unify(a.dims)
