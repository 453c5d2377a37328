"""Arrays of the Python array API standard, evaluated lazily."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from webnnm.backends.pyodide_host import is_awaited_by_promise
from webnnm.core.arrays import HostArray, zeros
from webnnm.core.awaiting import require_await
from webnnm.core.plugins import plugin
from webnnm.core.shapes import Shape, broadcast, count, show
from webnnm.eager import indexing
from webnnm.eager.device import Device
from webnnm.eager.dtypes import (
    BY_NAME,
    DType,
    bool_,
    convert_number,
    int32,
    int64,
    is_kind,
    limits,
    out_of_range,
    promote,
    scalar_dtype,
    uint64,
)
from webnnm.eager.errors import (
    ArrayIndexError,
    ArrayKeyError,
    ArrayTypeError,
    ArrayValueError,
    TracedValueError,
)
from webnnm.eager.scopes import TRACES, PendingGraph, Scope, Trace, pending, trace_ended_error
from webnnm.eager.storage import Storage
from webnnm.graph.node import Operand
from webnnm.ops.declare.tensors import TensorType

Scalar = bool | int | float


class Sides(NamedTuple):
    """At which ends of its range a data type limits a Python integer."""

    below: bool
    above: bool


BOTH_SIDES = Sides(below=True, above=True)


class Array:
    """An array of numbers on a device.

    >>> from webnnm import xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> x * 2 + 1
    Array([3.0, 5.0, 7.0], dtype=float32)

    Operations are recorded, and computed together as soon as a value is needed: by `print`,
    `float`, `tolist`, `if`, or by `await x.numpy()`, which also works in browsers that cannot
    suspend Python. The memory on the device is freed with the array.

    Arrays are made by the functions of `webnnm.xp`.
    """

    __slots__ = ("__weakref__", "dtype", "operand", "scope", "storage")
    weak = False
    """Whether it adopts the data type of the other operand, as a Python number does."""

    def __new__(cls, *_: Any, **__: Any) -> Array:
        """Make an array that can be awaited."""
        return object.__new__(AwaitableArray if cls is Array else cls)

    def __init__(
        self,
        dtype: DType,
        scope: Scope,
        operand: Operand | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.dtype = dtype
        self.scope = scope
        self.operand = operand
        self.storage = storage
        if operand is not None:
            scope.register(self)

    @property
    def shape(self) -> Shape:
        """The sizes of the dimensions."""
        if self.operand is not None:
            return self.operand.type.shape
        assert self.storage is not None
        return self.storage.type.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return count(self.shape)

    @property
    def device(self) -> Device:
        """The device that computes it."""
        return self.scope.device if isinstance(self.scope, PendingGraph) else Device.default()

    @property
    def T(self) -> Array:
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ArrayValueError(
                f"T takes a matrix, not {show(self.shape)}", "use `mT` or `permute_dims`"
            )
        return self.mT

    @property
    def mT(self) -> Array:
        """The transposes of a stack of matrices."""
        if self.ndim < 2:
            raise ArrayValueError(f"mT takes matrices, not {show(self.shape)}")
        if not self.size:
            return empty((*self.shape[:-2], *self.shape[:-3:-1]), self.dtype, self)
        axes = (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)
        return record(lambda b, x: b.transpose(x, permutation=axes), self)

    def to_device(self, device: Device | str, /, *, stream: object = None) -> Array:
        """Return the array on a device; a copy to another device passes through the host."""
        if stream is not None:
            raise ArrayValueError("devices have no streams")
        if not isinstance(device, Device):
            raise ArrayTypeError(f"{device!r} is not a device", "`await xp.open_device(…)` is")
        if device is self.device or isinstance(self.scope, Trace):
            return self
        return from_host(self._host(), self.dtype, device)

    # Values.

    def values_storage(self) -> Storage:
        """Return where the values are, or will be as soon as the device has computed them."""
        if self.storage is not None:
            return self.storage
        if not isinstance(self.scope, PendingGraph):
            raise TracedValueError(
                f"the value of a traced array {self._type()} was requested during tracing",
                "it is available only when the function runs: choose with `where` or `cond`, loop "
                "with `scan`, `fori_loop` or `while_loop`, or name the argument in "
                "`static_argnames`",
            )
        return self.scope.storage(self)

    def _host(self) -> HostArray:
        storage = self.values_storage()
        if storage.host is not None:
            return storage.host
        device = self.device
        if not device.can_wait():
            raise ArrayValueError(
                f"the values of {self._type()} have to be awaited, because this browser cannot "
                "suspend Python",
                "write `await x.numpy()`, or `await x` before this",
            )
        return device.read_now(storage)

    @partial(require_await, owner="x")
    async def numpy(self) -> Any:
        """Return the values: a NumPy array where NumPy is loaded, else a `HostArray`."""
        return _to_public((await self.device.read(self.values_storage()))[0], self.dtype)

    if TYPE_CHECKING:  # of those that JavaScript has waited for, there is none

        def __await__(self) -> Generator[Any, None, Array]: ...

    def tolist(self) -> Any:
        """Return nested lists of Python numbers, or a number."""
        if self.size == 0:
            return _make_empty_lists(self.shape)
        values = self._host()
        return _to_bools(values.tolist()) if self.dtype is bool_ else values.tolist()

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self._only("item()")

    def _only(self, what: str) -> Any:
        if self.size != 1:
            raise ArrayTypeError(f"{what} takes an array of one element, not {show(self.shape)}")
        value = self._host().values()[0]
        return bool(value) if self.dtype is bool_ else value

    def _scalar(self, what: str) -> Any:
        if self.ndim:
            raise ArrayTypeError(f"{what} takes a 0-dimensional array, not {self._type()}")
        return self._only(what)

    def __bool__(self) -> bool:
        return bool(self._scalar("bool()"))

    def __int__(self) -> int:
        return int(self._scalar("int()"))

    def __float__(self) -> float:
        return float(self._scalar("float()"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def __index__(self) -> int:
        if not is_kind(self.dtype, "integral"):
            raise ArrayTypeError(f"an array of {self.dtype} cannot be used as an index")
        return int(self._scalar("an index"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the values as a NumPy array, for `numpy.asarray`."""
        if isinstance(self.scope, Trace):
            raise TracedValueError(
                f"NumPy cannot compute with a traced array {self._type()}: it has no values yet",
                "write `xp.mean(x)` for `np.mean(x)`, with `from webnnm import xp`",
            )
        import_module("numpy")
        values = _to_public(self._host(), self.dtype)
        return values if dtype is None else values.astype(dtype)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return the values for a library that supports DLPack, in host memory."""
        if copy is False:
            raise BufferError("the values are copied to the host, which copy=False forbids")
        values = self.__array__().copy()
        return values.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return `webnnm.xp`."""
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ArrayValueError(f"version {api_version} of the array API is not supported")
        return plugin("xp")

    def __round__(self, ndigits: int | None = None, /) -> Any:
        return round(self._scalar("round()"), ndigits)

    def __format__(self, spec: str, /) -> str:
        if not spec:
            return repr(self)
        if self.ndim:
            raise ArrayTypeError(
                f"{spec!r} is the format of one number, not of an array {self._type()}",
                f"format its numbers: [f'{{each:{spec}}}' for each in x.tolist()]"
                if self.ndim == 1
                else "format the numbers of `x.tolist()`",
            )
        return format(self.item(), spec)

    def __copy__(self) -> Array:
        return copy_array(self)

    def __deepcopy__(self, _memo: dict[int, Any], /) -> Array:
        return copy_array(self)

    def __reduce__(self) -> Any:
        """Pickle the values; they are restored on the default device."""
        host = self._host()
        return _restore, (self.dtype, host.dtype, host.shape, bytes(host.data))

    def _type(self) -> str:
        return f"{self.dtype}{show(self.shape)}"

    def __repr__(self) -> str:
        if not isinstance(self.scope, PendingGraph):
            return f"Array(traced {self._type()})"
        pending_value = self.storage is None or self.storage.host is None
        if pending_value and not self.device.can_wait():
            return f"Array({self._type()}, to be awaited)"
        return f"Array({_format_values(self)}, dtype={self.dtype})"

    def __len__(self) -> int:
        if not self.ndim:
            raise ArrayTypeError("a 0-dimensional array has no length")
        return self.shape[0]

    def __iter__(self) -> Generator[Array]:
        if not self.ndim:
            raise ArrayTypeError("a 0-dimensional array cannot be iterated over")
        return (self[index] for index in range(self.shape[0]))

    __hash__: None = None

    # Elements.

    def __getitem__(self, key: Any, /) -> Array:
        mask = _only_mask(key, self)
        if mask is not None and not mask.ndim:
            return self[None] if mask else empty((0, *self.shape), self.dtype, self)
        key, arrays = _key(key, self)
        selection = indexing.parse_key(key, self.shape)
        if not count(selection.shape):
            return empty(selection.shape, self.dtype, self)
        return _take(self, selection, arrays)

    def __setitem__(self, key: Any, value: Array | Scalar, /) -> None:
        mask = _only_mask(key, self)
        if mask is not None:
            rest = self.ndim - mask.ndim
            indexing.check_dimensions((indexing.Mask(mask.shape),), self.shape)
            value = operand_like(value, self)
            if not rest and value.ndim > 1:
                raise ArrayTypeError(
                    f"a mask of all dimensions takes a number or a vector, not {show(value.shape)}"
                )
            value = _without_leading_ones(value, rest)
            if value.ndim <= rest:
                self._replace(_where_mask(mask, value, self))
                return
        key, arrays = _key(key, self)
        selection = indexing.parse_key(key, self.shape)
        value = _without_leading_ones(operand_like(value, self), len(selection.shape))
        if broadcast(value.shape, selection.shape) != selection.shape:
            raise ArrayValueError(f"{show(value.shape)} does not fit into {show(selection.shape)}")
        if count(selection.shape):
            self._replace(_put(self, selection, value, arrays))

    def _replace(self, other: Array) -> None:
        """Take the values of another array; arrays computed from this one keep theirs."""
        self.scope, self.operand, self.storage = other.scope, other.operand, other.storage
        if self.operand is not None:
            self.scope.register(self)

    # Operators.

    def __pos__(self) -> Array:
        return self

    def __neg__(self) -> Array:
        return negate(self)

    def __abs__(self) -> Array:
        return absolute(self)

    def __invert__(self) -> Array:
        if self.dtype is bool_:
            return unary("logical_not", self, "bool")
        return unary("bitwise_invert", self, "integral")

    def __add__(self, other: Array | Scalar, /) -> Array:
        return binary("add", self, other, "numeric")

    def __radd__(self, other: Scalar, /) -> Array:
        return binary("add", other, self, "numeric")

    def __sub__(self, other: Array | Scalar, /) -> Array:
        return binary("sub", self, other, "numeric")

    def __rsub__(self, other: Scalar, /) -> Array:
        return binary("sub", other, self, "numeric")

    def __mul__(self, other: Array | Scalar, /) -> Array:
        return binary("mul", self, other, "numeric")

    def __rmul__(self, other: Scalar, /) -> Array:
        return binary("mul", other, self, "numeric")

    def __truediv__(self, other: Array | Scalar, /) -> Array:
        return binary("div", self, other, "real floating")

    def __rtruediv__(self, other: Scalar, /) -> Array:
        return binary("div", other, self, "real floating")

    def __floordiv__(self, other: Array | Scalar, /) -> Array:
        return binary("floor_divide", self, other, "numeric")

    def __rfloordiv__(self, other: Scalar, /) -> Array:
        return binary("floor_divide", other, self, "numeric")

    def __mod__(self, other: Array | Scalar, /) -> Array:
        return binary("remainder", self, other, "numeric")

    def __rmod__(self, other: Scalar, /) -> Array:
        return binary("remainder", other, self, "numeric")

    def __pow__(self, other: Array | Scalar, /) -> Array:
        return power(self, other)

    def __rpow__(self, other: Scalar, /) -> Array:
        return power(other, self)

    def __and__(self, other: Array | Scalar, /) -> Array:
        return bitwise("and", self, other)

    def __rand__(self, other: Scalar, /) -> Array:
        return bitwise("and", other, self)

    def __or__(self, other: Array | Scalar, /) -> Array:
        return bitwise("or", self, other)

    def __ror__(self, other: Scalar, /) -> Array:
        return bitwise("or", other, self)

    def __xor__(self, other: Array | Scalar, /) -> Array:
        return bitwise("xor", self, other)

    def __rxor__(self, other: Scalar, /) -> Array:
        return bitwise("xor", other, self)

    def __lshift__(self, other: Array | Scalar, /) -> Array:
        return binary("bitwise_left_shift", self, other, "integral")

    def __rlshift__(self, other: Scalar, /) -> Array:
        return binary("bitwise_left_shift", other, self, "integral")

    def __rshift__(self, other: Array | Scalar, /) -> Array:
        return binary("bitwise_right_shift", self, other, "integral")

    def __rrshift__(self, other: Scalar, /) -> Array:
        return binary("bitwise_right_shift", other, self, "integral")

    def __matmul__(self, other: Array, /) -> Array:
        return matrix_product(self, other)

    def __eq__(self, other: object, /) -> Array:  # pyrefly: ignore[bad-override]
        return compare("equal", self, other)

    def __ne__(self, other: object, /) -> Array:  # pyrefly: ignore[bad-override]
        return compare("not_equal", self, other)

    def __lt__(self, other: Array | Scalar, /) -> Array:
        return compare("lesser", self, other)

    def __le__(self, other: Array | Scalar, /) -> Array:
        return compare("lesser_or_equal", self, other)

    def __gt__(self, other: Array | Scalar, /) -> Array:
        return compare("greater", self, other)

    def __ge__(self, other: Array | Scalar, /) -> Array:
        return compare("greater_or_equal", self, other)


class AwaitableArray(Array):
    """An array that `await` computes: any array except one that a promise resolved to."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, Array]:
        storage = self.values_storage()
        values = yield from self.device.read(storage).__await__()
        storage.host = values[0]
        if not is_awaited_by_promise():
            return self
        # JavaScript awaits what a promise resolves to, and what that resolves to, without an end.
        fulfilled: Array = object.__new__(Array)
        Array.__init__(fulfilled, self.dtype, self.scope, storage=storage)
        return fulfilled


AwaitableArray.__name__ = AwaitableArray.__qualname__ = Array.__name__


class WeakScalar(AwaitableArray):
    """A Python number that is passed to a traced function."""

    __slots__ = ()
    weak = True


def _restore(dtype: DType, tensor: Any, shape: Shape, data: bytes) -> Array:
    """Return the array that was pickled."""
    return from_host(HostArray(tensor, shape, data), dtype, None)


def record(
    # The first three give the parameters of lambdas their types.
    build: Callable[[Any, Any], Operand]
    | Callable[[Any, Any, Any], Operand]
    | Callable[[Any, Any, Any, Any], Operand]
    | Callable[..., Operand],
    /,
    *arrays: Array,
    dtype: DType | None = None,
) -> Array:
    """Return the array that `build(builder, *operands)` computes from arrays.

    It has the data type of the first array unless another is given.
    """
    scope = scope_of(arrays[0])
    operand = build(scope.builder, *[scope.operand_of(array) for array in arrays])
    return Array(dtype or arrays[0].dtype, scope, operand)


def record_several(build: Callable[[Any, Any], Sequence[Operand]], x: Array) -> list[Array]:
    """Return the arrays that `build(builder, operand)` computes from one, with its data type."""
    scope = scope_of(x)
    return [Array(x.dtype, scope, operand) for operand in build(scope.builder, scope.operand_of(x))]


def scope_of(array: Array) -> Scope:
    """Return the scope in which an operation on an array is recorded; this call begins it."""
    if TRACES:
        return TRACES[-1]
    if isinstance(array.scope, Trace):
        raise trace_ended_error()
    array.scope.cut()
    return array.scope


def create(build: Callable[[Any], Operand], dtype: DType, device: Device | None) -> Array:
    """Return the array that `build(builder)` computes from nothing."""
    scope = scope_for(device)
    return Array(dtype, scope, build(scope.builder))


def scope_for(device: Device | None) -> Scope:
    """Return the scope for an operation that takes no array; this call begins the operation."""
    if device is not None and not isinstance(device, Device):
        raise ArrayTypeError(f"{device!r} is not a device", "`await xp.open_device(…)` is")
    if TRACES:
        return TRACES[-1]
    scope = pending(device or Device.default())
    scope.cut()
    return scope


def _as_array(values: Any, like: Array) -> Array:
    """Return the values of another library's array on the device of one of ours."""
    host = HostArray.of(values, "float64" if like.dtype.name == "float64" else None, copy=True)
    is_bool = str(getattr(values, "dtype", "")) == "bool"
    return from_host(host, bool_ if is_bool else BY_NAME[host.dtype], like.device)


def from_host(array: HostArray, dtype: DType, device: Device | None) -> Array:
    """Return an array with values of the host."""
    home = pending(device or Device.default())
    return Array(dtype, home, storage=Storage(TensorType(array.dtype, array.shape), array))


def empty(shape: Sequence[int], dtype: DType, like: Array | None = None) -> Array:
    """Return an array without elements."""
    device = like.device if like is not None else None
    return from_host(zeros(dtype.tensor, shape), dtype, device)


def operand_like(value: Array | Scalar, like: Array) -> Array:
    """Return an array or a Python number in the data type of another array."""
    if isinstance(value, Array):
        return cast_operand(value, like.dtype)
    if hasattr(value, "__array__") and not isinstance(value, float):
        return convert_dtype(_as_array(value, like), like.dtype)
    _check_scalar("an assignment", value)
    return scalar(value, scalar_dtype(value, like.dtype), like)


def scalar(value: Scalar, dtype: DType, like: Array) -> Array:
    """Return a Python number as an array; programs do not depend on its value."""
    value = convert_number(value, dtype)
    scope = scope_of(like)
    return Array(dtype, scope, scope.number(value, dtype.tensor))


def cast_operand(x: Array, dtype: DType) -> Array:
    """Return an operand in a data type, which Python integers have to fit."""
    if x.weak and is_kind(x.dtype, "integral") and is_kind(dtype, "integral"):
        check_fits(x, dtype)
    return convert_dtype(x, dtype)


def check_fits(x: Array, dtype: DType, sides: Sides = BOTH_SIDES) -> None:
    """Raise `ArrayOverflowError` for a Python integer out of range: if traced, at each call."""
    if isinstance(x.scope, Trace) and x.storage is None:
        assert x.operand is not None
        x.scope.narrowed.append((x.operand, dtype, sides))
        return
    value = values_of(x)[0]
    low, high = limits(dtype)
    if (value < low and sides.below) or (value > high and sides.above):
        raise out_of_range(value, dtype)


def convert_dtype(x: Array, dtype: DType) -> Array:
    """Return an array in another data type."""
    if x.dtype is dtype:
        return x
    if not x.size:
        return empty(x.shape, dtype, x)
    if dtype is bool_:
        return record(lambda b, a: b.not_equal(a, b.constant(0, a.dtype)), x, dtype=bool_)
    if dtype.tensor == x.dtype.tensor:
        return record(lambda b, a: b.identity(a), x, dtype=dtype)
    return record(lambda b, a: b.cast(a, type=dtype.tensor), x, dtype=dtype)


def copy_array(x: Array) -> Array:
    """Return an array of its own with the same values, which stays when the other is donated."""
    return record(lambda b, a: b.identity(a), x) if x.size else x


def unary(method: str, x: Array, kind: str, dtype: DType | None = None) -> Array:
    """Return an element-wise operator of one array."""
    check(method, x, kind)
    if not x.size:
        return empty(x.shape, dtype or x.dtype, x)
    return record(lambda b, a: getattr(b, method)(a), x, dtype=dtype)


def absolute(x: Array) -> Array:
    """Return the absolute value of each element."""
    return x if is_kind(x.dtype, "unsigned integer") else unary("abs", x, "numeric")


def negate(x: Array) -> Array:
    """Return −x; unsigned integers wrap around."""
    check("negative", x, "numeric")
    return 0 - x if is_kind(x.dtype, "unsigned integer") else unary("neg", x, "numeric")


def check(name: str, x: Array, *kinds: str) -> None:
    """Raise an error for anything that is not an array of one of these kinds."""
    if not isinstance(x, Array):
        raise ArrayTypeError(f'"{name}" takes arrays, not {type(x).__name__}', "use `xp.asarray`")
    if not is_kind(x.dtype, *kinds):
        hint = "convert it with `xp.astype`"
        raise ArrayTypeError(f'"{name}" takes arrays of {" or ".join(kinds)}, not {x.dtype}', hint)


def promote_operands(
    name: str, x1: Array | Scalar, x2: Array | Scalar, *kinds: str
) -> tuple[Array, Array]:
    """Return two operands in their common data type; one of them may be a Python number."""
    if isinstance(x1, Array):
        if not isinstance(x2, Array):
            _check_scalar(name, x2)
            x2 = scalar(x2, scalar_dtype(x2, x1.dtype), x1)
        elif x1.dtype is not x2.dtype:
            dtype = _common(x1, x2)
            x1, x2 = cast_operand(x1, dtype), cast_operand(x2, dtype)
    elif isinstance(x2, Array):
        _check_scalar(name, x1)
        x1 = scalar(x1, scalar_dtype(x1, x2.dtype), x2)
    else:
        raise ArrayTypeError(f'"{name}" takes at least one array', "use `xp.asarray`")
    check(name, x1, *kinds)
    return x1, x2


def _common(x1: Array, x2: Array) -> DType:
    if x1.weak == x2.weak:
        return promote([x1.dtype, x2.dtype])
    weak, strong = (x1, x2) if x1.weak else (x2, x1)
    return scalar_dtype(_EXAMPLES[weak.dtype.kind], strong.dtype)


_EXAMPLES: dict[str, Scalar] = {"bool": True, "signed integer": 1, "real floating": 1.0}


def _check_scalar(name: str, value: object) -> None:
    if not isinstance(value, (bool, int, float, complex)):
        kind = type(value).__name__
        raise ArrayTypeError(
            f'"{name}" takes arrays and Python numbers, not {kind}', "use `xp.asarray`"
        )


def binary(
    method: str, x1: Array | Scalar, x2: Array | Scalar, kind: str, dtype: DType | None = None
) -> Array:
    """Return an element-wise operator of two arrays, which broadcast."""
    return _apply_binary(method, *promote_operands(method, x1, x2, kind), dtype)


def _apply_binary(method: str, x: Array, y: Array, dtype: DType | None) -> Array:
    shape = x.shape if x.shape == y.shape else common_shape(x.shape, y.shape)
    if not count(shape):
        return empty(shape, dtype or x.dtype, x)
    return record(lambda b, p, q: getattr(b, method)(p, q), x, y, dtype=dtype)


def common_shape(*shapes: Shape) -> Shape:
    """Return the shape to which shapes broadcast. Raises `ArrayValueError` if they do not."""
    shape = broadcast(*shapes)
    if shape is None:
        raise ArrayValueError(f"{' and '.join(map(show, shapes))} do not broadcast")
    return shape


def compare(method: str, x1: Array | Scalar, x2: object) -> Array:
    """Return a comparison, of integers as if they had no limits."""
    result = _compare_out_of_range(method, x1, x2)
    if result is not None:
        return result
    kinds = ("bool", "numeric") if method in ("equal", "not_equal") else ("numeric",)
    if isinstance(x1, Array) and isinstance(x2, Array) and x1.weak != x2.weak:
        result = _compare_weak(method, x1, x2)
        if result is not None:
            return result
    return _apply_binary(
        method,
        *promote_operands(method, x1, x2, *kinds),  # pyrefly: ignore[bad-argument-type]
        bool_,
    )


def _compare_out_of_range(method: str, x1: Array | Scalar, x2: object) -> Array | None:
    """Return the comparison with a Python integer that is out of range for the array's type."""
    for x, number, greater in ((x1, x2, -1), (x2, x1, 1)):
        if isinstance(x, Array) and is_out_of_range(number, x):
            return fill_like(x, _compare_unequal(method, number * greater > 0), bool_)
    return None


def is_out_of_range(number: object, x: object) -> TypeGuard[int]:
    """Return whether a number is a Python integer that an array of integers cannot hold."""
    if not isinstance(x, Array) or not isinstance(number, int) or not is_kind(x.dtype, "integral"):
        return False
    low, high = limits(x.dtype)
    return not low <= number <= high


def _compare_unequal(method: str, first_is_greater: bool) -> bool:
    """Return a comparison of two numbers that are not equal."""
    return method == "not_equal" or method.startswith("greater" if first_is_greater else "lesser")


def fill_like(x: Array, value: int, dtype: DType) -> Array:
    """Return an array of one number, in the shape of another array."""
    if not x.size:
        return empty(x.shape, dtype, x)

    def build(b: Any, a: Operand) -> Operand:
        return b.expand(b.constant(value, dtype.tensor), new_shape=a.shape)

    return record(build, x, dtype=dtype)


def _compare_weak(method: str, x1: Array, x2: Array) -> Array | None:
    """Return the comparison with a Python integer that is traced, in a type that holds both."""
    weak, x = (x1, x2) if x1.weak else (x2, x1)
    if not is_kind(weak.dtype, "integral") or not is_kind(x.dtype, "integral"):
        return None
    ranges = [limits(operand.dtype) for operand in (weak, x)]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    for dtype in (int32, int64, uint64):
        lowest, highest = limits(dtype)
        if lowest <= low and high <= highest:
            return _apply_binary(method, convert_dtype(x1, dtype), convert_dtype(x2, dtype), bool_)
    # One of them is of uint64: negative numbers are less than all of its numbers.
    signed, swapped = (x1, False) if is_kind(x1.dtype, "signed integer") else (x2, True)
    below = compare("lesser", Array(signed.dtype, signed.scope, signed.operand, signed.storage), 0)
    result = _apply_binary(method, convert_dtype(x1, uint64), convert_dtype(x2, uint64), bool_)
    if not result.size:
        return result
    constant = fill_like(below, _compare_unequal(method, swapped), bool_)
    return record(lambda b, c, p, q: b.where(c, p, q), below, constant, result, dtype=bool_)


def bitwise(name: str, x1: Array | Scalar, x2: Array | Scalar) -> Array:
    """Return "and", "or" or "xor" of bits, or of booleans."""
    a, b = promote_operands(f"bitwise_{name}", x1, x2, "bool", "integral")
    method = f"logical_{name}" if a.dtype is bool_ else f"bitwise_{name}"
    return binary(method, a, b, "bool" if a.dtype is bool_ else "integral")


def power(x1: Array | Scalar, x2: Array | Scalar) -> Array:
    """Return powers; Python integers as exponents are constants, which have simple gradients.

    Raises `ArrayValueError` for negative ones of integers, whose powers are no integers.
    """
    if isinstance(x1, Array) and isinstance(x2, int) and not isinstance(x2, bool):
        check("pow", x1, "numeric")
        dtype = scalar_dtype(x2, x1.dtype)
        exponent = convert_number(x2, dtype)
        if x2 < 0 and is_kind(dtype, "integral"):
            raise ArrayValueError(
                f"integers to the power of {x2} are no integers", "convert them with `xp.astype`"
            )
        if not x1.size:
            return x1
        return record(lambda b, a: b.pow(a, b.constant(exponent, dtype.tensor)), x1)
    return binary("pow", x1, x2, "numeric")


def matrix_product(x1: Array, x2: Array) -> Array:
    """Return the matrix product of stacks of matrices; one-dimensional arrays are vectors."""
    if not isinstance(x2, Array):
        raise ArrayTypeError('"matmul" takes arrays, not numbers')
    a, b = promote_operands("matmul", x1, x2, "numeric")
    if not (a.ndim and b.ndim):
        raise ArrayValueError(
            '"matmul" takes arrays of at least one dimension', "multiply with `*`"
        )
    left = a if a.ndim > 1 else reshape_to(a, (1, *a.shape))
    right = b if b.ndim > 1 else reshape_to(b, (*b.shape, 1))
    if left.shape[-1] != right.shape[-2]:
        raise ArrayValueError(f"{show(a.shape)} and {show(b.shape)} have no matrix product")
    stack = common_shape(left.shape[:-2], right.shape[:-2])
    shape = (*stack, left.shape[-2], right.shape[-1])
    ends = (*stack, *shape[-2:][: a.ndim > 1], *shape[-1:][: b.ndim > 1])
    if not count(shape):
        return empty(ends, a.dtype, a)
    if not left.shape[-1]:
        return create(lambda g: g.expand(g.constant(0, a.dtype.tensor), ends), a.dtype, a.device)
    return reshape_to(record(_product, left, right), ends)


def _product(b: Any, x: Operand, y: Operand) -> Operand:
    if x.dtype in ("float32", "float16"):
        return b.matmul(x, y)
    # WebNN multiplies matrices of floats only.
    rows = b.reshape(x, new_shape=(*x.shape, 1))
    columns = b.reshape(y, new_shape=(*y.shape[:-2], 1, *y.shape[-2:]))
    narrow = x.dtype in ("int8", "uint8")
    parts = rows * columns
    total = b.reduce_sum(
        b.cast(parts, type="int32") if narrow else parts, axes=[len(parts.shape) - 2]
    )
    return b.cast(total, type=x.dtype) if narrow else total


def reshape_to(x: Array, shape: Sequence[int]) -> Array:
    """Return an array with the same elements in another shape."""
    if tuple(shape) == x.shape:
        return x
    if not x.size:
        return empty(shape, x.dtype, x)
    return record(lambda b, a: b.reshape(a, new_shape=tuple(shape)), x)


def _only_mask(key: Any, x: Array) -> Array | None:
    """Return the mask that a key consists of, if it does."""
    keys: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
    key = _index(keys[0], x) if len(keys) == 1 else None
    return key if isinstance(key, Array) and key.dtype is bool_ else None


def _without_leading_ones(x: Array, ndim: int) -> Array:
    """Return an array with at most `ndim` dimensions, if those in front have size 1."""
    extra = max(0, x.ndim - ndim) if ndim else 0  # a number is replaced by a number
    return reshape_to(x, x.shape[extra:]) if x.shape[:extra] == (1,) * extra else x


def _where_mask(mask: Array, value: Array, x: Array) -> Array:
    selected = x.shape[mask.ndim :]
    if broadcast(value.shape, selected) != selected:
        raise ArrayValueError(f"{show(value.shape)} does not fit into {show(selected)}")
    if not x.size or not mask.size:
        return x
    condition = reshape_to(mask, (*mask.shape, *(1,) * (x.ndim - mask.ndim)))
    return record(lambda b, m, v, a: b.where(m, v, a), condition, value, x, dtype=x.dtype)


def _take(x: Array, selection: indexing.Selection, arrays: Sequence[Array]) -> Array:
    """Return the elements that a key selects."""
    scope = scope_of(x)
    for cut in selection.cuts():
        if scope.varies((x.shape, cut.axis, cut.size), cut.start):
            x = record(cut.take, x, scalar(cut.start, int32, x))
            selection = selection.after(cut)
    return record(selection.take, x, *arrays)


def _put(x: Array, selection: indexing.Selection, value: Array, arrays: Sequence[Array]) -> Array:
    """Return the array with a value in place of the elements that a key selects."""
    scope = scope_of(x)
    for cut in selection.cuts():
        if scope.varies((x.shape, cut.axis, cut.size), cut.start):
            start = scalar(cut.start, int32, x)
            part = _put(record(cut.take, x, start), selection.after(cut), value, arrays)
            return record(cut.put, x, part, start)
    return record(selection.put, x, value, *arrays)


def _key(key: Any, x: Array) -> tuple[tuple[Any, ...], list[Array]]:
    """Return a key with `Places` instead of arrays, and these arrays, masks as integer arrays."""
    keys: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
    indices = [_index(item, x) for item in keys]
    masks = [item for item in indices if isinstance(item, Array) and item.dtype is bool_]
    if masks:
        if not all(array.ndim for array in masks):
            raise ArrayIndexError("a mask without dimensions cannot stand beside other indices")
        # Before the host reads the mask, which it cannot while a function is traced.
        shapes = [
            indexing.Mask(item.shape) if isinstance(item, Array) and item.dtype is bool_ else item
            for item in indices
        ]
        indexing.check_dimensions(tuple(shapes), x.shape)
    items: list[Any] = []
    arrays: list[Array] = []
    for item in indices:
        if not isinstance(item, Array):
            items.append(item)
            continue
        index_arrays = find_nonzero(item) if item.dtype is bool_ else [item]
        arrays += index_arrays
        items += [indexing.IndexArray(array.shape, bounds(array)) for array in index_arrays]
    return tuple(items), arrays


def _index(item: Any, x: Array) -> Any:
    """Return an index, the arrays of other libraries as ours."""
    if isinstance(item, bool) or (isinstance(item, Array) and not is_kind(item.dtype, *_INDICES)):
        what = "a bool" if isinstance(item, bool) else f"an array of {item.dtype}"
        raise ArrayKeyError(f"{what} is not an index", "use an array of integers or booleans")
    if isinstance(item, Array) or not hasattr(item, "__array__"):
        return item
    # Numbers of NumPy are integers as any other; its booleans are not.
    return _index(_as_array(item, x), x) if _is_array(item) else item


def _is_array(item: Any) -> bool:
    return bool(getattr(item, "shape", True)) or str(getattr(item, "dtype", "")) == "bool"


_INDICES = ("integral", "bool")


def bounds(indices: Array) -> tuple[int, int] | None:
    """Return the least and the largest of some integers if they are known, else None.

    Arrays of NumPy's device are computed for it: that has to be done at some time.
    """
    if not indices.size:
        return 0, 0
    scope = indices.scope
    if indices.storage is not None and indices.storage.host is not None:
        host = indices.storage.host
    elif TRACES or not isinstance(scope, PendingGraph) or scope.differentiating:
        return None
    elif indices.device.reads_at_once():
        host = indices._host()
    else:
        return None
    if "numpy" in sys.modules:
        numbers = host.public()
        return int(numbers.min()), int(numbers.max())
    values = host.values()
    return min(values), max(values)


def host_array(x: Array) -> HostArray:
    """Return the values in the host's memory, once they are computed."""
    return x._host()


def values_of(x: Array) -> Sequence[Any]:
    """Return the elements as a flat sequence of Python numbers, once they are computed."""
    return x._host().values() if x.size else ()


def find_nonzero(x: Array) -> list[Array]:
    """Return where an array is not zero, an array of indices for each dimension.

    Their number depends on the values, so the host reads them.
    """
    if not x.ndim:
        raise ArrayValueError("a 0-dimensional array has no indices", "reshape it")
    flat = [flat_index for flat_index, value in enumerate(values_of(x)) if value]
    indices: list[Array] = []
    stride = x.size
    for size in x.shape:
        stride = stride // size if size else 0
        along = [flat_index // stride % size for flat_index in flat]
        shape = (len(along),)
        indices.append(from_host(HostArray.of(along, "int32", shape), BY_NAME["int32"], x.device))
    return indices


def _to_public(values: HostArray, dtype: DType) -> Any:
    if "numpy" in sys.modules:
        return values.public().astype(bool) if dtype is bool_ else values.public()
    return values.public()


def _to_bools(values: list[Any] | float) -> Any:
    return [_to_bools(value) for value in values] if isinstance(values, list) else bool(values)


def _make_empty_lists(shape: Shape) -> list[Any]:
    if not shape[0]:
        return []
    return [_make_empty_lists(shape[1:]) for _ in range(shape[0])]


def _format_values(x: Array) -> str:
    """Return the values as text; of many, only the first and the last."""
    values = x.tolist()
    return _format(values, 6) if x.size > 1000 else _format(values, 1000)


def _format(values: list[Any] | complex, max_items: int) -> str:
    if not isinstance(values, list):
        return f"{values:.7g}" if isinstance(values, float) and values % 1 else str(values)
    texts = [_format(value, max_items) for value in values]
    if len(texts) > max_items:
        texts = [*texts[: max_items // 2], "…", *texts[-(max_items // 2) :]]
    return f"[{', '.join(texts)}]"
