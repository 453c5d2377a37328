"""Maps the tensors of a file to the parameters of a model if their names differ."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NoReturn, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.json_text import parse_json
from webnnm.core.shapes import show
from webnnm.ops.declare.tensors import TensorType
from webnnm.snapshots.foreign import Form, Part, Permuted, Reshaped, Transposed
from webnnm.snapshots.safetensors import CODES, StoredTensor

Names = Mapping[str, "str | Form | None"]
"""Parameter here → tensor there; None for a tensor of the file that is not needed."""

MAX_LISTED = 8
"""How many names a message lists at most."""

_HOLE = re.compile(r"\*|\{(\d*)([A-Za-z_]\w*?)([+-]\d+)?\}")
"""The placeholders in a name: `*`, `{n}`, `{n-1}`, `{2n+1}`."""

MAX_DIGITS = 18
"""How many digits a number in a name has at most: longer ones are not numbers of layers."""

_NUMBER = rf"(\d{{1,{MAX_DIGITS}}})(?!\d)"


@dataclass(frozen=True)
class LazyTensor:
    """A tensor of a file for a parameter, not read yet."""

    tensor: StoredTensor | HostArray
    form: Form | None
    type: TensorType

    def array(self) -> HostArray:
        """Return the value as a copy: the file may be released."""
        return self.view().copy()

    def view(self) -> HostArray:
        """Return the value, which may be a view of the file."""
        tensor = self.tensor
        if self.form is not None:
            if isinstance(tensor, HostArray):
                tensor = StoredTensor(CODES[tensor.dtype], tensor.shape, tensor.data.cast("B"))
            is_transposed = isinstance(self.form, Transposed) and self.form.source == self.form.name
            data = (
                tensor.transpose()
                if is_transposed
                else self.form.data(tensor.shape, tensor.data, tensor.item_bytes)
            )
            tensor = StoredTensor(tensor.code, self.type.shape, data)
        array = tensor if isinstance(tensor, HostArray) else tensor.array()
        return HostArray.of(array, self.type.dtype)


def assign_tensors(
    tensors: Mapping[str, StoredTensor | HostArray],
    types: Mapping[str, TensorType],
    mapping: Names | None = None,
    *,
    only: str | Iterable[str] | None = None,
    strict: bool = True,
    convert: bool = False,
    source: str = "the file",
    hint: str = "",
) -> dict[str, LazyTensor]:
    """Return the tensor for each parameter; everything is checked, but nothing is read yet.

    >>> from webnnm.snapshots.safetensors import chunks, read
    >>> file = read(b"".join(chunks({"fc.0.weight": HostArray.of([[1.0, 2.0]])}, {})))
    >>> found = assign_tensors(
    ...     file.tensors,
    ...     {"w1": TensorType("float32", (2, 1))},
    ...     {"w{n}": Transposed("fc.{n-1}.weight")},
    ... )
    >>> found["w1"].array().tolist()
    [[1.0], [2.0]]

    - `tensors`: those of a file; `types`: those of the parameters of a model.
    - `mapping`: parameter → name in the file, or a form of `webnnm.snapshots.foreign`. A parameter
      that it leaves out has the same name there. `*` matches any text, the shortest that fits;
      `{n}` matches an integer, for which the other side may have `{n-1}` or `{2n+1}`. Full names
      take precedence over patterns, and earlier patterns over later ones. Names in the file that
      are not needed map to None.
    - `only`: the parameters to assign, by name or pattern; tensors of others may be missing.
    - `strict`: every parameter must have a tensor, and every tensor a parameter. Otherwise, only
      what fits is loaded.
    - `convert`: whether arrays of other types are converted; those of files have to fit.
    - `source`: how messages call what holds the tensors.
    - `hint`: what to do about names without a counterpart, for callers that take no name map.

    Raises `DataError` NNM805 for names without a counterpart on either side, NNM806 for shapes and
    types that do not fit, NNM704 for invalid patterns, NNM710 for names in `only` that are unknown.
    """
    origins, rules = _origins(types, mapping)
    if only is not None:
        selected = _select(types, only)
        origins = {name: origin for name, origin in origins.items() if name in selected}
    tensor_names = {name: o.name if isinstance(o, Form) else o for name, o in origins.items()}
    if strict:
        _check_names(tensors, types, rules, tensor_names, source, hint, extra=only is None)
    assigned: dict[str, LazyTensor] = {}
    for name, origin in origins.items():
        if tensor_names[name] in tensors:
            tensor = tensors[tensor_names[name]]
            reason = _misfit(tensor, origin, types[name], convert=convert)
            if not reason:
                form = origin if isinstance(origin, Form) else None
                assigned[name] = LazyTensor(tensor, form, types[name])
            elif strict:
                _refuse(name, origin, tensor, types[name], reason, source)
    return assigned


def _select(types: Iterable[str], only: str | Iterable[str]) -> set[str]:
    """Return the parameters with these names, or that match these patterns."""
    selected: set[str] = set()
    for pattern in [only] if isinstance(only, str) else only:
        rule = _Rule(pattern, None)
        matches = {name for name in types if rule.match(name)}
        if not matches:
            hint = suggestion(pattern, types)
            raise DataError("NNM710", f'there is no parameter "{pattern}"', hint=hint)
        selected |= matches
    return selected


def source_names(types: Iterable[str], mapping: Names | None = None) -> dict[str, str | Form]:
    """Return the name of the tensor for each parameter, according to a name map.

    >>> source_names(["w2"], {"w{n}": "fc.{n-1}.weight"})
    {'w2': 'fc.1.weight'}
    """
    return _origins(types, mapping)[0]


class _Rule:
    """One entry of a name map."""

    def __init__(self, key: str, value: str | Form | None) -> None:
        if not isinstance(value, str | Form | None):
            raise DataError(
                "NNM704",
                f'the name map says {value!r} of "{key}"',
                hint="a name, a form such as Transposed(name), or None",
            )
        self.key, self.value = key, value
        self._holes = holes = list(_HOLE.finditer(key))
        self.is_pattern = bool(holes)
        self.used = False
        self._shortest = len(key) - sum(len(hole[0]) for hole in holes)
        hole_names = {hole[2] for hole in holes}
        target = value.name if isinstance(value, Form) else value or ""
        target_holes = list(_HOLE.finditer(target))
        for hole in (*holes, *target_holes):
            if hole[2]:
                _check_hole(hole)
        stars = sum(not hole[2] for hole in holes)
        unknown = [hole[0] for hole in target_holes if hole[2] and hole[2] not in hole_names]
        if unknown or sum(not hole[2] for hole in target_holes) > stars:
            raise DataError(
                "NNM704",
                f'the name map says "{target}" of "{key}"',
                hint=f"{', '.join(unknown) or '*'} has no value there",
            )

    def match(self, name: str) -> tuple[list[str], dict[str, int]] | None:
        """Return the values of the stars and numbers in a name, None if it does not match."""
        texts = self._texts(name)
        if texts is None:
            return None
        stars: list[str] = []
        numbers: dict[str, int] = {}
        for hole, text in zip(self._holes, texts, strict=True):
            if not hole[2]:
                stars.append(text)
                continue
            number, rest = divmod(int(text) - int(hole[3] or 0), int(hole[1] or 1))
            if rest or number < 0 or numbers.setdefault(hole[2], number) != number:
                return None
        return stars, numbers

    @cached_property
    def _parts(self) -> list[re.Pattern[str]]:
        """The parts between the stars, in order; the last part ends the name."""
        parts, end = [""], 0
        for hole in self._holes:
            parts[-1] += re.escape(self.key[end : hole.start()])
            if hole[2]:
                parts[-1] += _NUMBER
            else:
                parts.append("")
            end = hole.end()
        parts[-1] += re.escape(self.key[end:]) + r"\Z"
        return [re.compile(part) for part in parts]

    def _texts(self, name: str) -> list[str] | None:
        """Return the values of the holes, None if the name does not match.

        Each part is matched at its first occurrence: there is no backtracking, however many stars.
        """
        if len(name) < self._shortest:
            return None
        first, *others = self._parts
        match = first.match(name)
        texts: list[str] = []
        for part in others:
            if match is None:
                break
            texts += match.groups()
            end = match.end()
            if (match := part.search(name, end)) is not None:
                texts.append(name[end : match.start()])
        return None if match is None else [*texts, *match.groups()]

    def origin(self, name: str) -> str | Form | None:
        """Return the tensor for a parameter by this rule, None if the rule does not match it."""
        matched = self.match(name)
        if matched is None or self.value is None:
            return None
        self.used = True
        stars, numbers = matched
        return (
            _fill_holes(self.value, partial(_hole, iter(stars), numbers))
            if stars or numbers
            else (self.value)
        )


def _check_hole(hole: re.Match[str]) -> None:
    """Raise NNM704 for a number that has the factor 0 or is too long."""
    longest = max(map(len, hole.groups("")))
    if longest > MAX_DIGITS or (hole[1] and not int(hole[1])):
        raise DataError(
            "NNM704",
            f"the name map says {hole[0][:40]}",
            hint="write {n}, {n-1} or {2n+1}: a factor of at least 1, and few digits",
        )


def _hole(stars: Any, numbers: Mapping[str, int], hole: re.Match[str]) -> str:
    if not hole[2]:
        return next(stars)
    return str(int(hole[1] or 1) * numbers[hole[2]] + int(hole[3] or 0))


def _fill_holes(value: str | Form, put: Callable[[re.Match[str]], str]) -> str | Form:
    if isinstance(value, str):
        return _HOLE.sub(put, value)
    others = {f: getattr(value, f) for f in value.__dataclass_fields__ if f != "source"}
    return type(value)(_fill_holes(value.source, put), **others)


def _origins(
    types: Iterable[str], mapping: Names | None
) -> tuple[dict[str, str | Form], list[_Rule]]:
    """Return the tensor for each parameter, and the rules of the name map with their use."""
    rules = [_Rule(key, value) for key, value in (mapping or {}).items()]
    exact = {rule.key: [rule] for rule in rules if not rule.is_pattern}
    patterns = [rule for rule in rules if rule.is_pattern]

    def origin(name: str) -> str | Form:
        targets = (rule.origin(name) for rule in exact.get(name, patterns))
        return next((target for target in targets if target is not None), name)

    return {name: origin(name) for name in types}, rules


def _check_names(
    tensors: Mapping[str, StoredTensor | HostArray],
    types: Mapping[str, TensorType],
    rules: Sequence[_Rule],
    tensor_names: Mapping[str, str],
    source: str,
    hint: str,
    *,
    extra: bool,
) -> None:
    """Raise NNM805 if parameters, tensors or entries of the map have no counterpart."""
    unwanted = [rule for rule in rules if rule.value is None]
    used = set(tensor_names.values())
    missing = [name for name, tensor in tensor_names.items() if tensor not in tensors]
    unused = [
        name
        for name in tensors
        if extra and name not in used and not any(rule.match(name) for rule in unwanted)
    ]
    idle = [rule.key for rule in rules if rule.value is not None and not rule.used]
    if not (missing or unused or idle):
        return
    labels = [
        n if tensor_names[n] == n else f"{n} ({tensor_names[n]} in {source})" for n in missing
    ]
    parts = [f"{_join_names(labels)} missing"] if missing else []
    parts += [f"{_join_names(unused)} not in the model"] if unused else []
    parts += [f"{_join_names(idle)} in the name map not in the model"] if idle else []
    if missing and unused and not hint:
        hint = suggestion(tensor_names[missing[0]], unused) or _fitting(
            tensors, types, missing, unused
        )
    hint = hint or (suggestion(idle[0], types) if idle else "")
    raise DataError(
        "NNM805",
        f"the parameters are not those of the model: {'; '.join(parts)}",
        hint=hint
        or f"mapping={{parameter: name in {source}}} maps names, strict=False loads what fits",
    )


def _fitting(
    tensors: Mapping[str, StoredTensor | HostArray],
    types: Mapping[str, TensorType],
    missing: Sequence[str],
    extra: Sequence[str],
) -> str:
    """Return a hint with the tensor of the file that would fit a missing parameter."""
    for name in missing:
        shape = types[name].shape
        for other in extra:
            if tensors[other].shape == shape:
                return f'"{other}" has the shape of "{name}": mapping={{"{name}": "{other}"}}'
        for other in extra:
            if len(shape) == 2 and tensors[other].shape == shape[::-1]:
                form = Transposed(other)
                return f'"{other}" would fit transposed: mapping={{"{name}": {form}}}'
    return ""


def _misfit(
    tensor: StoredTensor | HostArray, origin: str | Form, type: TensorType, *, convert: bool
) -> str:
    """Return why a tensor does not fit a parameter, "" if it does."""
    shape = tensor.shape
    if isinstance(origin, Form):
        if isinstance(tensor, HostArray) and tensor.dtype in ("int4", "uint4"):
            return "4-bit tensors can only be loaded whole"
        try:
            shape = origin.shape(shape)
        except ValueError as error:
            return str(error)
        if shape != type.shape:
            return f"{origin} of it is {show(shape)}"
    elif shape != type.shape:
        return "the shapes differ"
    if convert or tensor.dtype == type.dtype:
        return ""
    if (tensor.dtype, type.dtype) == ("float16", "float32"):
        return ""
    return "its type has no counterpart" if tensor.dtype is None else "the types differ"


def _refuse(
    name: str,
    origin: str | Form,
    tensor: StoredTensor | HostArray,
    type: TensorType,
    reason: str,
    source: str,
) -> NoReturn:
    tensor_name = origin.name if isinstance(origin, Form) else origin
    what = tensor.dtype or (tensor.code if isinstance(tensor, StoredTensor) else "")
    alias = "" if tensor_name == name else f' as "{tensor_name}"'
    transposed = tensor.shape == type.shape[::-1] and len(type.shape) == 2
    raise DataError(
        "NNM806",
        f'parameter "{name}" is {type} in the model, {what}{show(tensor.shape)} in {source}{alias}:'
        f" {reason}",
        hint=f"mapping={{{json.dumps(name)}: {Transposed(tensor_name)}}}"
        if transposed and not isinstance(origin, Form)
        else "",
    )


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def read_name_map(text: str) -> dict[str, str | Form | None]:
    """Return the name map that a JSON text holds.

    >>> read_name_map('{"w{n}": {"transposed": "fc.{n}.weight"}}')
    {'w{n}': Transposed(source='fc.{n}.weight')}
    >>> print(*read_name_map('''{
    ...     "wq1": {"transposed": {"part": "qkv.weight", "index": 0, "of": 3}},
    ...     "f1": {"permuted": "conv.weight", "axes": "oihw -> hwio"},
    ...     "u1": {"reshaped": "lstm.weight_ih_l0", "sizes": [1, 512, 128]},
    ...     "b1": "fc.bias", "*.attn.mask": null
    ... }''').values(), sep="\\n")
    Transposed(Part("qkv.weight", 0, 3))
    Permuted("conv.weight", "oihw -> hwio")
    Reshaped("lstm.weight_ih_l0", [1, 512, 128])
    fc.bias
    None

    A form is an object: its name in lower case with the source as value, and its fields. Raises
    `DataError` NNM704 for a text that is not a name map.
    """
    try:
        content = parse_json(text)
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        entries = cast("dict[str, Any]", content).items()
        return {key: None if value is None else _form(value) for key, value in entries}
    except (ValueError, TypeError) as error:
        raise DataError(
            "NNM704",
            f"this is not a name map: {error}",
            hint='{"w1": "fc1.weight", "w2": {"transposed": "fc2.weight"}}',
        ) from error


FORMS: Mapping[str, type[Form]] = {
    form.__name__.lower(): form for form in (Transposed, Permuted, Part, Reshaped)
}


def _form(value: Any) -> str | Form:
    if isinstance(value, str):
        return value
    fields = dict(cast("Mapping[str, Any]", value)) if isinstance(value, dict) else {}
    forms: Iterable[str] = fields.keys() & FORMS.keys()
    form = next(iter(forms), None)
    if form is None:
        hint = suggestion(next(iter(fields), ""), FORMS)
        raise ValueError(f"{json.dumps(value)} is neither a name nor {', '.join(FORMS)}; {hint}")
    return FORMS[form](_form(fields.pop(form)), **fields)
