"""Facts about float types that bound what rounding may do."""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT_INFO

UNIT = {"float32": 2.0**-24, "float16": 2.0**-11}
"""Half the distance of 1 to the next number."""
LEAST = {"float32": 2.0**-126, "float16": 2.0**-14}
"""The least number that is not subnormal."""
MOST = {dtype: info.max for dtype, info in FLOAT_INFO.items()}
