"""Reads pictures and sounds that are passed for predictions as files, or at any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.data.binding.form import Form
from webnnm.data.files.labelled_files import load_file
from webnnm.data.pictures.fitting import (
    PictureFormat,
    fit_pictures,
    is_picture,
    measure_picture,
)
from webnnm.data.sounds.listening import Listening, is_sound, listen


async def read_media(data: Any, forms: Mapping[str, Form], *, is_by_name: bool) -> Any:
    """Return data of a prediction with files as arrays; anything else is unchanged.

    `forms` are those of the inputs that take pictures or sounds; `is_by_name` says whether `data`
    are a dict from input to rows. Raises the errors of `fit_picture` and `load_samples`.
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


async def load_pictures(
    data: Any, block: str, form: Form, *, is_by_name: bool
) -> tuple[Any, list[tuple[int, int]] | None]:
    """Return data of a prediction with loaded files, and the sizes of the pictures of an input.

    Sizes are (width, height) in pixels, None for arrays of pictures of the size of the dataset's.
    Raises the errors of `measure_picture`.
    """
    if is_by_name:
        rows = {**cast("Mapping[str, Any]", data)}
        name = next((name for name in rows if name.removesuffix(":input") == block), None)
        if name is None:
            return data, None
        rows[name], sizes = await load_pictures(rows[name], block, form, is_by_name=False)
        return rows, sizes
    files = _list_files(block, data, form)
    if files is None:
        return data, None
    contents = [await load_file(file) for file in files]
    names = _name_files(block, files)
    sizes = [
        await measure_picture(content, name) for content, name in zip(contents, names, strict=True)
    ]
    return contents, sizes


def _list_files(block: str, values: Any, form: Form) -> list[Any] | None:
    """Return the files that are the rows of an input, None for arrays.

    Raises `DataError` NNM705 for an empty list.
    """
    is_file = is_sound if form.rate else is_picture
    if is_file(values):
        is_row = isinstance(values, HostArray) and values.shape == form.field.shape
        return None if is_row else [values]
    if isinstance(values, (list, tuple)) and not values:
        kind = "sounds" if form.rate else "pictures"
        raise DataError("NNM705", f'input "{block}" has no {kind}', hint="give at least one")
    if isinstance(values, (list, tuple)) and all(map(is_file, cast("Sequence[Any]", values))):
        return [*cast("Sequence[Any]", values)]
    return None


def _name_files(block: str, files: Sequence[Any]) -> list[str]:
    return [f'input "{block}", row {row}{_name(one)}' for row, one in enumerate(files)]


async def _read_rows(block: str, values: Any, form: Form) -> Any:
    files = _list_files(block, values, form)
    if files is None:
        return values
    names = _name_files(block, files)
    if form.rate:
        results = await listen(files, names, Listening(form.rate, form.field.shape[0]))
    else:
        results = await fit_pictures(files, names, PictureFormat.of(form.field, form.fit))
    arrays: list[HostArray] = []
    for result in results:
        if isinstance(result, DataError):
            raise result
        arrays.append(HostArray(result.dtype, (1, *form.field.shape), result.data))
    return concatenate(arrays)


def _name(file: Any) -> str:
    return f' "{file}"' if isinstance(file, str) or hasattr(file, "parts") else ""
