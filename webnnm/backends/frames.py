"""Graphs from a picture of a page to a picture on a canvas."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from webnnm.backends import pyodide_host
from webnnm.backends.automatic import AutomaticBackend
from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable, Runner
from webnnm.backends.shared import SharedBackend
from webnnm.backends.verdicts import Verdicts
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import BackendError, DataError
from webnnm.core.waiting import to_the_end
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from collections.abc import Generator

DTYPES: tuple[DataType, ...] = ("float32", "float16", "uint8")
"""The data types of the tensors of pictures."""
CHANNELS = (3, 1)
"""Numbers of channels that pictures may have: colours, or grey."""
WORD = 4
"""The size of what shaders write, in bytes."""


class _Trial(Protocol):
    def passes(self) -> Awaitable[bool]: ...


class _Link(Protocol):
    subject: str

    def openTrial(self) -> Awaitable[_Trial]: ...
    def tensor(self, dtype: str, shape: str, bytes: int, /) -> Awaitable[int]: ...
    def painter(self, graph: int, binding: str, pictures: str, /) -> Awaitable[_Painter]: ...


class _Painter(Protocol):
    def paint(self, picture: Any, canvas: Any, /) -> Awaitable[None]: ...
    def close(self) -> None: ...


class _Module(Protocol):
    """The functions of js_bridge/webgpu/frames.js; frames.d.ts describes them."""

    def connect(self, bridge: Any, context: int, /) -> Awaitable[_Link]: ...
    def readPicture(self, picture: Any, format: str, /) -> pyodide_host.JsBuffer: ...
    def paintNumbers(self, canvas: Any, data: Any, format: str, /) -> None: ...


@dataclass(frozen=True, kw_only=True)
class PictureTensor:
    """An input or output of a graph that is a picture.

    A number of an input is a share of a colour, from 0 to 1, times the `scale` of its channel plus
    its `offset`; a share of a painted colour is a number of an output times `scale` plus `offset`.
    """

    name: str
    width: int
    height: int
    channels: int
    channels_last: bool
    reversed: bool
    scale: Sequence[float]
    offset: Sequence[float]

    def format(self, dtype: DataType) -> dict[str, Any]:
        """Return what shaders and the host need to know, as frames.d.ts describes it."""
        return {
            "dataType": dtype,
            "width": self.width,
            "height": self.height,
            "channels": self.channels,
            "channelsLast": self.channels_last,
            "reversed": self.reversed,
            "scale": [*self.scale],
            "offset": [*self.offset],
        }


class Layout(NamedTuple):
    """Where a tensor has the pixels of a picture."""

    channels: int
    height: int
    width: int
    channels_last: bool

    def tensor(
        self, name: str, reversed: bool, scale: Sequence[float], offset: Sequence[float]
    ) -> PictureTensor:
        """Return the description of the tensor."""
        return PictureTensor(
            name=name,
            width=self.width,
            height=self.height,
            channels=self.channels,
            channels_last=self.channels_last,
            reversed=reversed,
            scale=scale,
            offset=offset,
        )


def find_layout(type: TensorType) -> Layout | None:
    """Return where a tensor has the pixels of one picture, None if it is none.

    >>> find_layout(TensorType("float32", (1, 3, 192, 256)))
    Layout(channels=3, height=192, width=256, channels_last=False)
    """
    shape = type.shape[1:] if len(type.shape) == 4 and type.shape[0] == 1 else type.shape
    if len(shape) != 3 or type.dtype not in DTYPES:
        return None
    first, middle, last = shape
    if first in CHANNELS:
        return Layout(first, middle, last, False)
    return Layout(last, first, middle, True) if last in CHANNELS else None


@dataclass(frozen=True, kw_only=True)
class PictureGraph:
    """A graph, the tensors of its other inputs and outputs, and its pictures."""

    executable: Executable
    inputs: Binding
    outputs: Binding
    picture: PictureTensor
    result: PictureTensor

    @property
    def types(self) -> tuple[TensorType, TensorType]:
        """The types of both pictures."""
        executable = self.executable
        return executable.inputs[self.picture.name], executable.outputs[self.result.name]


class HostFrames:
    """Pictures pass through the memory of the page, on every backend."""

    def __init__(
        self,
        module: _Module,
        backend: Backend,
        graph: PictureGraph,
        tensors: Sequence[DeviceTensor],
    ) -> None:
        self._module, self._backend, self._tensors = module, backend, tensors
        # Not all browsers have arrays of float16.
        of_page = {dtype: dtype for dtype in DTYPES} | {"float16": "float32"}
        self._dtypes = [of_page[tensor.type.dtype] for tensor in tensors]
        pictures = zip((graph.picture, graph.result), self._dtypes, strict=True)
        self._formats = [json.dumps(picture.format(dtype)) for picture, dtype in pictures]
        names = graph.picture.name, graph.result.name
        bound = {names[0]: tensors[0]}, {names[1]: tensors[1]}
        self._runner: Runner = backend.runner(
            graph.executable,
            {**graph.inputs, **bound[0]},
            {**graph.outputs, **bound[1]},
            *([name] for name in names),
        )

    @classmethod
    async def open(cls, backend: Backend, graph: PictureGraph) -> HostFrames:
        """Bind a graph to tensors of its own."""
        tensors = [await backend.tensor(type) for type in graph.types]
        backend.claim("inference", *tensors)
        return cls(await load_frames(), backend, graph, tensors)

    async def paint(self, picture: Any, canvas: Any) -> None:
        """Run the graph on a picture, and paint the result on a canvas."""
        type = self._tensors[0].type
        with translate_picture_errors():
            data = self._module.readPicture(picture, self._formats[0]).to_py()
        array = HostArray(self._dtypes[0], type.shape, data)
        (result,) = await self._runner.run([HostArray.of(array, type.dtype)])
        numbers = HostArray.of(result, self._dtypes[1])
        with translate_picture_errors():
            self._module.paintNumbers(canvas, numbers.data, self._formats[1])

    def close(self) -> None:
        """Free the tensors of the pictures."""
        self._runner.close()
        self._backend.release(*self._tensors)


class SharedFrames:
    """Pictures stay on the graphics card: WebGPU shares tensors with the backend."""

    def __init__(
        self, painter: _Painter, backend: WebNNBackend, tensors: Sequence[DeviceTensor]
    ) -> None:
        self._painter, self._backend, self._tensors = painter, backend, tensors

    @classmethod
    async def open(cls, backend: Backend, graph: PictureGraph) -> SharedFrames:
        """Bind a graph to tensors that WebGPU shares.

        Raises `BackendError` NNM709 if browser, backend and tensors do not allow this.
        """
        device = find_device(backend)
        if not isinstance(device, WebNNBackend):
            raise BackendError("NNM709", f"{device.description} shares no tensors with WebGPU")
        if any(type.nbytes % WORD for type in graph.types):
            raise BackendError("NNM709", f"the sizes of tensors are not multiples of {WORD} bytes")
        tensors: list[DeviceTensor] = []
        with translate_picture_errors():
            link: _Link = await device.connect(await load_frames())
            await _check_trial(link)
            try:
                for type in graph.types:
                    handle = await link.tensor(type.dtype, json.dumps(type.shape), type.nbytes)
                    tensors.append(DeviceTensor(type, handle))
                executable, *binding = _find_binding(backend, graph, *tensors)
                names = device.get_handles(executable, *binding)
                pictures = zip(tensors, (graph.picture, graph.result), strict=True)
                painter = await link.painter(
                    executable.handle.built.graph,
                    json.dumps(names),
                    json.dumps(
                        [
                            {"tensor": tensor.handle, "format": picture.format(tensor.type.dtype)}
                            for tensor, picture in pictures
                        ]
                    ),
                )
            except BaseException:
                device.release(*tensors)
                raise
        device.claim("inference", *tensors)
        return cls(painter, device, tensors)

    async def paint(self, picture: Any, canvas: Any) -> None:
        """Run the graph on a picture, and paint the result on a canvas."""
        with translate_picture_errors():
            # WebGPU has the tensors until the end, whether or not somebody still waits for it.
            await to_the_end(self._painter.paint(picture, canvas))

    def close(self) -> None:
        """Free the tensors of the pictures."""
        self._painter.close()
        self._backend.release(*self._tensors)


def find_device(backend: Backend) -> Backend:
    """Return the backend that runs the graphs of another one at the moment."""
    *_, device = _list_layers(backend)
    return device


def _list_layers(backend: Backend) -> Iterator[Backend]:
    """Return a backend, the one to which it passes graphs on, and so on to the device."""
    yield backend
    while isinstance(backend, (SharedBackend, AutomaticBackend)):
        backend = backend.given if isinstance(backend, SharedBackend) else backend.inner
        yield backend


def _find_binding(
    backend: Backend, graph: PictureGraph, picture: DeviceTensor, result: DeviceTensor
) -> tuple[Executable, Binding, Binding]:
    """Return a graph and its tensors on the device."""
    bound = (
        graph.executable,
        {**graph.inputs, graph.picture.name: picture},
        {**graph.outputs, graph.result.name: result},
    )
    for layer in _list_layers(backend):
        if isinstance(layer, AutomaticBackend):
            bound = layer.translate_binding(*bound)
    return bound


async def _check_trial(link: _Link) -> None:
    """Raise `BackendError` NNM709 unless a trial passed, now or on an earlier visit."""
    if not link.subject:
        return
    async with _trials:
        verdicts = await Verdicts.of(await pyodide_host.load_bridge())
        verdict = verdicts.recall("frames", link.subject)
        if verdict is None:
            # A cancellation is no verdict.
            verdict = await to_the_end(_try_sharing(link, verdicts))
    if verdict == "0":
        raise BackendError("NNM709", "a trial of tensors shared with WebGPU failed")


async def _try_sharing(link: _Link, verdicts: Verdicts) -> str:
    """Make a trial, and return its verdict; there is none if the browser opens no context."""
    topic = "frames", link.subject
    trial = await link.openTrial()
    verdicts.keep("0", *topic)  # so that a browser that does not survive it tries it once
    verdict = "1" if await trial.passes() else "0"
    verdicts.keep(verdict, *topic)
    return verdict


_trials = asyncio.Lock()
_loaded: list[_Module] = []


async def load_frames() -> _Module:
    """Return js_bridge/webgpu/frames.js."""
    if not _loaded:
        _loaded.append(cast(_Module, await pyodide_host.load_module("webgpu/frames")))
    return _loaded[0]


@contextmanager
def translate_picture_errors() -> Generator[None]:
    """Turn errors of reading and painting pictures into ours."""
    try:
        yield
    except pyodide_host.js_error() as error:
        message = str(getattr(error, "message", error))
        if str(getattr(error, "name", "")) == "PictureError":
            raise DataError("NNM702", f"the picture cannot be painted: {message}") from error
        raise BackendError("NNM709", message) from error
