"""Reads the text of a module as far as checks need it: operations, types, attributes, lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from webnnm.core.errors import ModelError

CODE = "NNM904"
"""The text is not a module of well-typed operations."""

MODULE = re.compile(r"module @(\w+|\"[^\"]*\") \{")
MAIN = re.compile(r"func\.func public @main\((.*)\) -> \((.*)\) \{")
OPERATION = re.compile(r'(%\d+)(?::(\d+))? = "([\w.]+)"\(([^()]*)\)(?: <\{(.*?)\}>)?(.*)')
BLOCK = re.compile(r"\^bb0\((.*)\):")
TERMINATOR = re.compile(r'(?:"stablehlo\.return"\((.*?)\) : \((.*)\) -> \(\)|return (.*?) : (.*))')
TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)(\w+)>")
VALUE = re.compile(r"%\w+(?:#\d+)?")
NAMED = re.compile(r"(%\w+): (tensor<[^>]*>)(?: \{webnnm\.name = \"[^\"]*\"\})?")


@dataclass(frozen=True)
class Tensor:
    """The type of a value; a size that is left open is None."""

    shape: tuple[int | None, ...]
    element: str

    def __str__(self) -> str:
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.shape)
        return f"tensor<{sizes}{self.element}>"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def fits(self, other: Tensor) -> bool:
        """Return whether both can be the type of one value."""
        return self.element == other.element and alike(self.shape, other.shape)


def alike(one: Sequence[int | None], other: Sequence[int | None]) -> bool:
    """Return whether two shapes can be the same."""
    return len(one) == len(other) and all(
        a == b or a is None or b is None for a, b in zip(one, other, strict=True)
    )


@dataclass(frozen=True)
class Read:
    """An operation as it was read: its line, and the types in its signature."""

    line: int
    name: str
    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    attributes: Mapping[str, str]
    regions: tuple[ReadRegion, ...]

    def attribute(self, name: str) -> str:
        """Return the text of an attribute, "" if it is missing."""
        return self.attributes.get(name, "")

    def integers(self, name: str) -> list[int]:
        """Return an attribute of integers: one of them, a vector, or rows of pairs."""
        text = self.attribute(name)
        if not text:
            self.fail(f"{name} is missing")
        body = text.partition(":")[2] if text.startswith("array") else text.partition(" : ")[0]
        return [int(number) for number in re.findall(r"(?<![\w])-?\d+", body)]

    def inner_integers(self, name: str, inside: str) -> list[int]:
        """Return a list of integers inside a structured attribute."""
        match = re.search(rf"{inside} = \[([^\]]*)\]", self.attribute(name))
        return [int(number) for number in match[1].split(",")] if match and match[1] else []

    def fail(self, message: str) -> NoReturn:
        """Raise an error about this operation."""
        raise wrong(self.line, f"{self.name}: {message}")


@dataclass(frozen=True)
class ReadRegion:
    """A region: its arguments and results, and its operations."""

    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    operations: tuple[Read, ...]


def wrong(line: int, message: str) -> ModelError:
    """Return an error about a line."""
    return ModelError(CODE, f"line {line}: {message}", hint="the text was changed or cut off")


def types(text: str, line: int) -> tuple[Tensor, ...]:
    """Read a list of types.

    >>> types("tensor<2x?xf32>, tensor<i1>", 1)
    (Tensor(shape=(2, None), element='f32'), Tensor(shape=(), element='i1'))
    """
    tensors = tuple(_tensor(match) for match in TENSOR.finditer(text))
    rest = TENSOR.sub("", text).replace(",", "").strip(" ()")
    if rest:
        raise wrong(line, f'"{rest}" is not a type')
    return tensors


def _tensor(match: re.Match[str]) -> Tensor:
    sizes = match[1].split("x")[:-1]
    return Tensor(tuple(None if size == "?" else int(size) for size in sizes), match[2])


@dataclass
class Reader:
    """Reads lines in order; `scopes` hold the types of the values that are defined so far."""

    lines: Sequence[str]
    line: int = 0
    scopes: list[dict[str, Tensor]] = field(default_factory=list[dict[str, Tensor]])

    def module(self) -> tuple[Read, ...]:
        """Read one module with one function `main`. Raises `ModelError` NNM904."""
        self._next(MODULE, "a module")
        header = self._next(MAIN, "the function @main")
        self.scopes = [self._arguments(header[1])]
        operations, results = self._body()
        declared = types(re.sub(r" \{webnnm\.name = \"[^\"]*\"\}", "", header[2]), 2)
        if results != declared:
            raise wrong(self.line, "@main returns other types than it declares")
        for bracket in ("  }", "}"):
            if self._line() != bracket:
                raise wrong(self.line, f'"{bracket.strip()}" expected')
        if any(line.strip() for line in self.lines[self.line :]):
            raise wrong(self.line + 1, "there is text after the module")
        return operations

    def _line(self) -> str:
        if self.line >= len(self.lines):
            raise wrong(self.line, "the text ends too early")
        self.line += 1
        return self.lines[self.line - 1]

    def _next(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.fullmatch(self._line().strip())
        if match is None:
            raise wrong(self.line, f"{what} expected")
        return match

    def _arguments(self, text: str) -> dict[str, Tensor]:
        arguments = {m[1]: types(m[2], self.line)[0] for m in NAMED.finditer(text)}
        if len(arguments) != text.count("%") or NAMED.sub("", text).strip(" ,"):
            raise wrong(self.line, "malformed arguments")
        return arguments

    def _body(self) -> tuple[tuple[Read, ...], tuple[Tensor, ...]]:
        """Read operations up to the return, and the types of what it returns."""
        operations: list[Read] = []
        while True:
            text = self._line().strip()
            end = TERMINATOR.fullmatch(text)
            if end is not None:
                names, signature = (end[1], end[2]) if end[3] is None else (end[3], end[4])
                return tuple(operations), self._check_operands(names, types(signature, self.line))
            operations.append(self._operation(text))

    def _operation(self, text: str) -> Read:
        match = OPERATION.fullmatch(text)
        if match is None:
            raise wrong(self.line, "an operation expected")
        line, rest = self.line, match[6]
        regions: list[ReadRegion] = []
        if rest == " ({":
            regions, rest = self._regions()
        signature = re.fullmatch(r" : \((.*)\) -> (.*)", rest)
        if signature is None:
            raise wrong(self.line, "a signature expected")
        operands = self._check_operands(match[4], types(signature[1], self.line))
        results = types(signature[2], self.line)
        self._define(match[1], match[2], results)
        attributes = _attributes(match[5] or "")
        return Read(line, match[3], operands, results, attributes, tuple(regions))

    def _regions(self) -> tuple[list[ReadRegion], str]:
        regions: list[ReadRegion] = []
        while True:
            block = self._next(BLOCK, "a block")
            arguments = self._arguments(block[1])
            argument_types = tuple(arguments.values())
            outer, self.scopes = self.scopes, [arguments]
            operations, results = self._body()
            self.scopes = outer
            regions.append(ReadRegion(argument_types, results, operations))
            end = self._line().strip()
            if end == "}, {":
                continue
            if not end.startswith("})"):
                raise wrong(self.line, "the end of a region expected")
            return regions, end[2:]

    def _check_operands(self, names: str, declared: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Check that values are defined, and have the types of the signature."""
        value_names = [name.strip() for name in names.split(",")] if names.strip() else []
        if len(value_names) != len(declared):
            raise wrong(self.line, f"{len(value_names)} values and {len(declared)} types")
        for name, type in zip(value_names, declared, strict=True):
            if not VALUE.fullmatch(name):
                raise wrong(self.line, f'"{name}" is not a value')
            defined = next((scope[name] for scope in self.scopes if name in scope), None)
            if defined is None:
                raise wrong(self.line, f"{name} is used before it is defined")
            if defined != type:
                raise wrong(self.line, f"{name} is {defined}, not {type}")
        return declared

    def _define(self, name: str, count: str | None, results: tuple[Tensor, ...]) -> None:
        expected = int(count) if count else 1
        if len(results) != expected:
            raise wrong(
                self.line, f"{name} stands for {expected} results, there are {len(results)}"
            )
        names = [f"{name}#{k}" for k in range(expected)] if count else [name]
        for value_name, type in zip(names, results, strict=True):
            if value_name in self.scopes[-1]:
                raise wrong(self.line, f"{value_name} is defined twice")
            self.scopes[-1][value_name] = type


def _attributes(text: str) -> dict[str, str]:
    """Split attributes at the commas outside of brackets.

    >>> _attributes("a = #x<b = [0, 1], c = 2>, d = 3 : i64")
    {'a': '#x<b = [0, 1], c = 2>', 'd': '3 : i64'}
    """
    depth, start = 0, 0
    parts: list[str] = []
    plain = text.replace("->", "  ")
    for index, letter in enumerate(plain + ","):
        depth += (letter in "[<{(") - (letter in "]>})")
        if letter == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    return {name: value for name, _, value in (part.partition(" = ") for part in parts if part)}


def every(operations: Sequence[Read]) -> Iterator[Read]:
    """Yield operations and those in their regions."""
    for operation in operations:
        yield operation
        for region in operation.regions:
            yield from every(region.operations)
