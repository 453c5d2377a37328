"""Reads the pictures that are passed for predictions as files or at any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.data.binding.form import Form
from webnnm.data.pictures.fitting import PictureFormat, fit_pictures, is_picture


async def read_media(data: Any, forms: Mapping[str, Form], *, is_by_name: bool) -> Any:
    """Return data of a prediction with pictures as arrays; anything else is unchanged.

    `forms` are those of the inputs that take pictures; `is_by_name` says whether `data` are a
    dict from input to rows. Raises the errors of `fit_picture`.
    """
    if not is_by_name:
        ((block, form),) = forms.items()
        return await _read_rows(block, data, form)
    rows = {**cast("Mapping[str, Any]", data)}
    for name, values in rows.items():
        form = forms.get(name.removesuffix(":input"))
        if form is not None:
            rows[name] = await _read_rows(name, values, form)
    return rows


async def _read_rows(block: str, values: Any, form: Form) -> Any:
    where = f'input "{block}"'
    if is_picture(values):
        if isinstance(values, HostArray) and values.shape == form.field.shape:
            return values
        pictures: list[Any] = [values]
    elif isinstance(values, (list, tuple)) and all(map(is_picture, cast("Sequence[Any]", values))):
        pictures = [*cast("Sequence[Any]", values)]
    else:
        return values
    names = [f"{where}, picture {row}{_name(one)}" for row, one in enumerate(pictures)]
    results = await fit_pictures(pictures, names, PictureFormat.of(form.field, form.fit))
    arrays: list[HostArray] = []
    for result in results:
        if isinstance(result, DataError):
            raise result
        arrays.append(HostArray("uint8", (1, *form.field.shape), result.data))
    return concatenate(arrays)


def _name(picture: Any) -> str:
    return f' "{picture}"' if isinstance(picture, str) or hasattr(picture, "parts") else ""
