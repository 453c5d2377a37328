"""The Python array API standard (2024.12) on any backend.

>>> from webnnm import xp
>>> x = xp.linspace(0, 1, 5)
>>> float(xp.sum(x * x))
1.875

docs/arrays.md explains when and where values are computed, and what happens in browsers.
"""

from __future__ import annotations

from webnnm.eager import linalg as linalg
from webnnm.eager.array import Array as Array
from webnnm.eager.creation import arange as arange
from webnnm.eager.creation import asarray as asarray
from webnnm.eager.creation import empty as empty
from webnnm.eager.creation import empty_like as empty_like
from webnnm.eager.creation import eye as eye
from webnnm.eager.creation import from_dlpack as from_dlpack
from webnnm.eager.creation import full as full
from webnnm.eager.creation import full_like as full_like
from webnnm.eager.creation import linspace as linspace
from webnnm.eager.creation import meshgrid as meshgrid
from webnnm.eager.creation import ones as ones
from webnnm.eager.creation import ones_like as ones_like
from webnnm.eager.creation import tril as tril
from webnnm.eager.creation import triu as triu
from webnnm.eager.creation import zeros as zeros
from webnnm.eager.creation import zeros_like as zeros_like
from webnnm.eager.devices import __array_namespace_info__ as __array_namespace_info__
from webnnm.eager.devices import memory as memory
from webnnm.eager.devices import open_device as open_device
from webnnm.eager.devices import set_default_device as set_default_device
from webnnm.eager.dtypes import bool_ as _bool
from webnnm.eager.dtypes import float16 as float16
from webnnm.eager.dtypes import float32 as float32
from webnnm.eager.dtypes import float64 as float64
from webnnm.eager.dtypes import int8 as int8
from webnnm.eager.dtypes import int32 as int32
from webnnm.eager.dtypes import int64 as int64
from webnnm.eager.dtypes import isdtype as isdtype
from webnnm.eager.dtypes import uint8 as uint8
from webnnm.eager.dtypes import uint32 as uint32
from webnnm.eager.dtypes import uint64 as uint64
from webnnm.eager.elementwise import abs as abs
from webnnm.eager.elementwise import acos as acos
from webnnm.eager.elementwise import acosh as acosh
from webnnm.eager.elementwise import add as add
from webnnm.eager.elementwise import asin as asin
from webnnm.eager.elementwise import asinh as asinh
from webnnm.eager.elementwise import atan as atan
from webnnm.eager.elementwise import atan2 as atan2
from webnnm.eager.elementwise import atanh as atanh
from webnnm.eager.elementwise import bitwise_and as bitwise_and
from webnnm.eager.elementwise import bitwise_invert as bitwise_invert
from webnnm.eager.elementwise import bitwise_left_shift as bitwise_left_shift
from webnnm.eager.elementwise import bitwise_or as bitwise_or
from webnnm.eager.elementwise import bitwise_right_shift as bitwise_right_shift
from webnnm.eager.elementwise import bitwise_xor as bitwise_xor
from webnnm.eager.elementwise import ceil as ceil
from webnnm.eager.elementwise import clip as clip
from webnnm.eager.elementwise import conj as conj
from webnnm.eager.elementwise import copysign as copysign
from webnnm.eager.elementwise import cos as cos
from webnnm.eager.elementwise import cosh as cosh
from webnnm.eager.elementwise import divide as divide
from webnnm.eager.elementwise import equal as equal
from webnnm.eager.elementwise import exp as exp
from webnnm.eager.elementwise import expm1 as expm1
from webnnm.eager.elementwise import floor as floor
from webnnm.eager.elementwise import floor_divide as floor_divide
from webnnm.eager.elementwise import greater as greater
from webnnm.eager.elementwise import greater_equal as greater_equal
from webnnm.eager.elementwise import hypot as hypot
from webnnm.eager.elementwise import imag as imag
from webnnm.eager.elementwise import isfinite as isfinite
from webnnm.eager.elementwise import isinf as isinf
from webnnm.eager.elementwise import isnan as isnan
from webnnm.eager.elementwise import less as less
from webnnm.eager.elementwise import less_equal as less_equal
from webnnm.eager.elementwise import log as log
from webnnm.eager.elementwise import log1p as log1p
from webnnm.eager.elementwise import log2 as log2
from webnnm.eager.elementwise import log10 as log10
from webnnm.eager.elementwise import logaddexp as logaddexp
from webnnm.eager.elementwise import logical_and as logical_and
from webnnm.eager.elementwise import logical_not as logical_not
from webnnm.eager.elementwise import logical_or as logical_or
from webnnm.eager.elementwise import logical_xor as logical_xor
from webnnm.eager.elementwise import maximum as maximum
from webnnm.eager.elementwise import minimum as minimum
from webnnm.eager.elementwise import multiply as multiply
from webnnm.eager.elementwise import negative as negative
from webnnm.eager.elementwise import nextafter as nextafter
from webnnm.eager.elementwise import not_equal as not_equal
from webnnm.eager.elementwise import positive as positive
from webnnm.eager.elementwise import pow as pow
from webnnm.eager.elementwise import real as real
from webnnm.eager.elementwise import reciprocal as reciprocal
from webnnm.eager.elementwise import remainder as remainder
from webnnm.eager.elementwise import round as round
from webnnm.eager.elementwise import sign as sign
from webnnm.eager.elementwise import signbit as signbit
from webnnm.eager.elementwise import sin as sin
from webnnm.eager.elementwise import sinh as sinh
from webnnm.eager.elementwise import sqrt as sqrt
from webnnm.eager.elementwise import square as square
from webnnm.eager.elementwise import subtract as subtract
from webnnm.eager.elementwise import tan as tan
from webnnm.eager.elementwise import tanh as tanh
from webnnm.eager.elementwise import trunc as trunc
from webnnm.eager.elementwise import where as where
from webnnm.eager.linear_algebra import matmul as matmul
from webnnm.eager.linear_algebra import matrix_transpose as matrix_transpose
from webnnm.eager.linear_algebra import tensordot as tensordot
from webnnm.eager.linear_algebra import vecdot as vecdot
from webnnm.eager.manipulation import broadcast_arrays as broadcast_arrays
from webnnm.eager.manipulation import broadcast_to as broadcast_to
from webnnm.eager.manipulation import concat as concat
from webnnm.eager.manipulation import expand_dims as expand_dims
from webnnm.eager.manipulation import flip as flip
from webnnm.eager.manipulation import moveaxis as moveaxis
from webnnm.eager.manipulation import permute_dims as permute_dims
from webnnm.eager.manipulation import repeat as repeat
from webnnm.eager.manipulation import reshape as reshape
from webnnm.eager.manipulation import roll as roll
from webnnm.eager.manipulation import squeeze as squeeze
from webnnm.eager.manipulation import stack as stack
from webnnm.eager.manipulation import take as take
from webnnm.eager.manipulation import take_along_axis as take_along_axis
from webnnm.eager.manipulation import tile as tile
from webnnm.eager.manipulation import unstack as unstack
from webnnm.eager.searching import argmax as argmax
from webnnm.eager.searching import argmin as argmin
from webnnm.eager.searching import argsort as argsort
from webnnm.eager.searching import isin as isin
from webnnm.eager.searching import nonzero as nonzero
from webnnm.eager.searching import searchsorted as searchsorted
from webnnm.eager.searching import sort as sort
from webnnm.eager.searching import unique_all as unique_all
from webnnm.eager.searching import unique_counts as unique_counts
from webnnm.eager.searching import unique_inverse as unique_inverse
from webnnm.eager.searching import unique_values as unique_values
from webnnm.eager.statistics import all as all
from webnnm.eager.statistics import any as any
from webnnm.eager.statistics import count_nonzero as count_nonzero
from webnnm.eager.statistics import cumulative_prod as cumulative_prod
from webnnm.eager.statistics import cumulative_sum as cumulative_sum
from webnnm.eager.statistics import diff as diff
from webnnm.eager.statistics import max as max
from webnnm.eager.statistics import mean as mean
from webnnm.eager.statistics import min as min
from webnnm.eager.statistics import prod as prod
from webnnm.eager.statistics import std as std
from webnnm.eager.statistics import sum as sum
from webnnm.eager.statistics import var as var
from webnnm.eager.types import astype as astype
from webnnm.eager.types import broadcast_shapes as broadcast_shapes
from webnnm.eager.types import can_cast as can_cast
from webnnm.eager.types import finfo as finfo
from webnnm.eager.types import iinfo as iinfo
from webnnm.eager.types import result_type as result_type

__array_api_version__ = "2024.12"

bool = _bool

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793


def __dir__() -> list[str]:
    internal = ("_bool", "annotations", "__dir__")
    return [name for name in globals() if name not in internal]
