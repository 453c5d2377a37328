"""Painters: networks from pictures of a page to pictures on a canvas."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.backends import pyodide_host
from webnnm.backends.base import Backend, Constants, DeviceTensor, Executable
from webnnm.backends.drawing import find_picture_class
from webnnm.backends.frames import (
    CHANNELS,
    DTYPES,
    HostFrames,
    PictureGraph,
    PictureTensor,
    SharedFrames,
    find_device,
    find_layout,
)
from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await, require_await_of_methods
from webnnm.core.errors import BackendError, DataError, suggestion
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType

ORDERS = ("rgb", "bgr")

PerChannel = float | Sequence[float]


@require_await
async def open_painter(
    model: Any,
    *,
    size: tuple[int, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    input: str | None = None,
    output: str | None = None,
    mean: PerChannel = 0.0,
    std: PerChannel = 1.0,
    output_mean: PerChannel = 0.0,
    output_std: PerChannel = 1.0,
    order: Literal["rgb", "bgr"] = "rgb",
    webgpu: bool = True,
) -> Painter:
    """Open a painter: a model that turns pictures of a page into pictures on a canvas.

    >>> async def paint(net, video, canvas):
    ...     async with await open_painter(net, size=(256, 192)) as painter:
    ...         while not video.ended:
    ...             await painter.paint(video, canvas)

    Pictures stay on the graphics card where the browser shares the tensors of the model's backend
    with WebGPU; elsewhere, and with `webgpu=False`, they pass through the memory of the page.

    `model` is an `NNModel` or an `OnnxModel`; `size` is width and height of the pictures that it
    takes, unless they are fixed, and `shapes` gives the sizes of other inputs. The picture is the
    first input with one or three channels, before or after height and width, unless `input` names
    it; likewise the `output`.

    Colours are numbers from 0 to 1, from which `mean` is subtracted before they are divided by
    `std`: numbers, or one for each channel. 0.5 for both gives numbers from −1 to 1. Outputs are
    multiplied by `output_std`, then `output_mean` is added. `order` is the order of the channels.

    Raises `DataError` NNM702 or NNM710 if the model has no such pictures, NNM703 for a wrong
    argument, what compiling the model raises, and `BackendError` NNM709 outside a page.
    """
    if not pyodide_host.in_browser():
        raise BackendError(
            "NNM709",
            "painters need a web page, and this Python does not run in one",
            hint="`predict` takes arrays and images",
        )
    if order not in ORDERS:
        hint = suggestion(str(order), ORDERS) or f"one of {', '.join(ORDERS)}"
        raise DataError("NNM703", f'there is no order of channels "{order}"', hint=hint)
    settings = _Settings(
        shapes={**_find_shape(model, size, input), **(shapes or {})},
        input=input,
        output=output,
        mean=mean,
        std=std,
        output_mean=output_mean,
        output_std=output_std,
        reversed=order == "bgr",
        webgpu=webgpu,
    )
    painter = Painter(model, settings)
    try:
        await painter.prepare()
        if size is not None and painter.size != tuple(size):
            sizes = " but ".join(f"{width} × {height}" for width, height in (painter.size, size))
            raise DataError("NNM702", f"the model takes pictures of {sizes} were asked for")
    except BaseException:
        painter.close()
        raise
    return painter


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """The arguments of `open_painter`."""

    shapes: Mapping[str, Sequence[int]]
    input: str | None
    output: str | None
    mean: PerChannel
    std: PerChannel
    output_mean: PerChannel
    output_std: PerChannel
    reversed: bool
    webgpu: bool


@require_await_of_methods("painter")
class Painter:
    """A model that turns pictures into pictures on a canvas, made by `open_painter`.

    Attributes: `size`, width and height of the pictures that the model takes; `route`, "WebGPU" if
    pictures stay on the graphics card, else "host"; `reason`, why they do not, "" if they do.
    """

    def __init__(self, model: Any, settings: _Settings) -> None:
        self.size = (0, 0)
        self.route: Literal["WebGPU", "host"] = "host"
        self.reason = ""
        self._model, self._settings = model, settings
        self._backend: Backend = getattr(model, "state", model).backend
        self._others: dict[str, DeviceTensor] = {}
        self._data: dict[str, HostArray] = {}
        self._is_fresh = True
        self._owned: list[DeviceTensor | Executable] = []
        self._graph: PictureGraph | None = None
        self._frames: HostFrames | SharedFrames | None = None
        self._prepared_for: tuple[int, Backend] | None = None
        self._turn = asyncio.Lock()
        self._is_closed = False

    async def paint(
        self, picture: Any, canvas: Any, inputs: Mapping[str, Any] | None = None
    ) -> None:
        """Run the model on a picture, and paint the result on a canvas, which takes its size.

        `picture` is anything that a canvas can draw: a video, a canvas, an image, an ImageBitmap, a
        VideoFrame, ImageData. It is scaled to `size`, on black where it is transparent. `canvas`
        has a 2D context, or none yet. `inputs` has data for the other inputs of the model, which
        are kept for further pictures.

        Raises `DataError` NNM702 for a picture or a canvas that cannot be used, NNM710 for unknown
        inputs and those without data, and `BackendError` NNM709 after `close`.
        """
        if find_picture_class(picture) is None:
            raise DataError(
                "NNM702",
                f"a canvas cannot draw this {type(picture).__name__}",
                hint="pass a video, a canvas, an image, an ImageBitmap or ImageData",
            )
        async with self._turn:
            try:
                await self._paint(picture, canvas, inputs or {})
            finally:
                if self._is_closed:
                    self._free()

    async def _paint(self, picture: Any, canvas: Any, inputs: Mapping[str, Any]) -> None:
        """Paint a picture; only one is painted at a time."""
        graph, frames = await self.prepare()
        self._write(inputs, graph.executable.unused)
        if isinstance(frames, SharedFrames):
            try:
                return await frames.paint(picture, canvas)
            except BackendError as error:
                if self._is_closed:
                    raise
                frames = await self._leave_webgpu(graph, frames, error.message)
        await frames.paint(picture, canvas)

    async def prepare(self) -> tuple[PictureGraph, HostFrames | SharedFrames]:
        """Compile the model, unless this was done for its backend and its parameters."""
        if self._is_closed:
            raise BackendError(
                "NNM709", "the painter is closed", hint="open another one with `open_painter`"
            )
        state = getattr(self._model, "state", None)
        version = 0 if state is None else state.parameters.version
        device = find_device(self._backend)
        if self._graph and self._frames and self._prepared_for == (version, device):
            return self._graph, self._frames
        self._free()
        graph = await self._compile()
        self._frames = frames = await self._open(graph)
        self._graph, self.size = graph, (graph.picture.width, graph.picture.height)
        # Compiling may have moved the model to another backend.
        self._prepared_for = version, find_device(self._backend)
        return graph, frames

    async def _open(self, graph: PictureGraph) -> HostFrames | SharedFrames:
        """Bind the graph to its pictures, over WebGPU where this is possible."""
        self.route, self.reason = "host", "webgpu=False"
        if self._settings.webgpu:
            try:
                frames = await SharedFrames.open(self._backend, graph)
            except BackendError as error:
                self.reason = error.message
            else:
                self.route, self.reason = "WebGPU", ""
                return frames
        return await HostFrames.open(self._backend, graph)

    async def _leave_webgpu(
        self, graph: PictureGraph, frames: SharedFrames, reason: str
    ) -> HostFrames:
        """Go on over the host; raises what the backend does if it has failed as well."""
        frames.close()
        self._frames = None
        self.route, self.reason = "host", reason
        self._frames = host = await HostFrames.open(self._backend, graph)
        return host

    async def _compile(self) -> PictureGraph:
        """Compile the model, and make the tensors of its other inputs and outputs."""
        settings = self._settings
        graph, constants = _lower(self._model, settings.shapes)
        executable = await self._backend.compile(graph, constants=constants)
        self._owned.append(executable)
        picture = _choose("input", settings.input, executable.inputs)
        result = _choose("output", settings.output, executable.outputs)
        _check_units(self._model, picture, result)
        inputs: dict[str, DeviceTensor] = {}
        for name, type in executable.inputs.items():
            value = constants.get(name)
            if isinstance(value, DeviceTensor):
                inputs[name] = value
            elif name != picture:
                inputs[name] = await self._tensor(type, value)
        self._others = {name: t for name, t in inputs.items() if name not in constants}
        self._is_fresh = True
        outputs = {
            name: await self._tensor(type)
            for name, type in executable.outputs.items()
            if name != result
        }
        return PictureGraph(
            executable=executable,
            inputs=inputs,
            outputs=outputs,
            picture=self._describe_input(picture, executable.inputs[picture]),
            result=self._describe_output(result, executable.outputs[result]),
        )

    def _describe_input(self, name: str, type: TensorType) -> PictureTensor:
        layout, settings = find_layout(type), self._settings
        assert layout is not None
        means = _per_channel("mean", settings.mean, layout.channels)
        stds = _per_channel("std", settings.std, layout.channels)
        offset = [-mean / std for mean, std in zip(means, stds, strict=True)]
        return layout.tensor(name, settings.reversed, [1 / std for std in stds], offset)

    def _describe_output(self, name: str, type: TensorType) -> PictureTensor:
        layout, settings = find_layout(type), self._settings
        assert layout is not None
        scale = _per_channel("output_std", settings.output_std, layout.channels)
        offset = _per_channel("output_mean", settings.output_mean, layout.channels)
        return layout.tensor(name, settings.reversed, scale, offset)

    async def _tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        tensor = await self._backend.tensor(type, data)
        self._owned.append(tensor)
        return tensor

    def _write(self, inputs: Mapping[str, Any], unused: Container[str]) -> None:
        """Write data to the other inputs; those of a new graph take the data of the former one."""
        arrays: dict[str, HostArray] = {}
        for name, value in inputs.items():
            if name in self._others:
                arrays[name] = HostArray.of(value, *self._others[name].type)
            elif name not in unused:
                hint = suggestion(name, self._others) or f"others are {sorted(self._others)}"
                raise DataError("NNM710", f'"{name}" is no other input of the model', hint=hint)
        self._data |= arrays
        if missing := sorted(self._others.keys() - self._data.keys()):
            raise DataError("NNM710", f"inputs without data: {', '.join(missing)}")
        for name in self._others if self._is_fresh else arrays:
            self._backend.write(self._others[name], self._data[name])
        self._is_fresh = False

    def close(self) -> None:
        """Free the memory of the painter, after its current picture; the model stays open."""
        self._is_closed = True
        if not self._turn.locked():
            self._free()

    def _free(self) -> None:
        if self._frames is not None:
            self._frames.close()
        self._backend.release(*self._owned)
        self._frames = self._graph = None
        self._owned = []

    async def __aenter__(self) -> Painter:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        width, height = self.size
        return f"Painter({width} × {height} pixels, over {self.route})"


def _choose(end: str, name: str | None, types: Mapping[str, TensorType]) -> str:
    """Return the name of the picture among inputs or outputs."""
    pictures = [other for other, type in types.items() if find_layout(type)]
    if name in pictures or (name is None and pictures):
        return name or pictures[0]
    if name is not None and name not in types:
        hint = suggestion(name, types) or f"there are {', '.join(types)}"
        raise DataError("NNM710", f'there is no {end} "{name}"', hint=hint)
    shown = ", ".join(f"{other} {types[other]}" for other in ([name] if name else types))
    raise DataError(
        "NNM702",
        f"no {end} is a picture: {shown}",
        hint=f"pictures are {' or '.join(DTYPES)}, [1, channels, height, width] or "
        "[1, height, width, channels], with 1 or 3 channels",
    )


def _per_channel(name: str, value: PerChannel, channels: int) -> list[float]:
    """Return an argument as numbers, one for each channel."""
    numbers = [value] * channels if isinstance(value, (int, float)) else [*value]
    is_divisor = name == "std"
    if (
        len(numbers) != channels
        or not all(map(math.isfinite, numbers))
        or (is_divisor and 0 in numbers)
    ):
        raise DataError(
            "NNM703",
            f"{name}={value!r} for {channels} channels",
            hint=f"write a number, or {channels} of them" + is_divisor * "; none may be 0",
        )
    return numbers


def _find_shape(
    model: Any, size: tuple[int, int] | None, input: str | None
) -> dict[str, list[int]]:
    """Return the shape of the picture in an ONNX model, whose height and width are free."""
    if size is None or hasattr(model, "state"):
        return {}
    width, height = size
    for name, value in model.inputs.items():
        if input not in (None, name) or value.shape is None or len(value.shape) not in (3, 4):
            continue
        (first, _, last), batch = value.shape[-3:], [1] * (len(value.shape) - 3)
        if first in CHANNELS:
            return {name: [*batch, first, height, width]}
        if last in CHANNELS:
            return {name: [*batch, height, width, last]}
    return {}


def _lower(model: Any, shapes: Mapping[str, Sequence[int]]) -> tuple[Graph, Constants]:
    """Return the graph of a model for one picture, and its parameters."""
    state = getattr(model, "state", None)
    if state is None:
        graph = model.graph(shapes)
        return graph, {n: array for n, array in model.params.items() if n in graph.inputs}
    tensors: Mapping[str, DeviceTensor] = state.parameters.readable()
    graph = lower_network(state.network, batch=1, sequence=state.sequence).graph()
    return graph, {PARAMETER_PREFIX + name: tensor for name, tensor in tensors.items()}


def _check_units(model: Any, picture: str, result: str) -> None:
    """Raise `DataError` NNM702 if a dataset standardised the pictures of a model."""
    state = getattr(model, "state", None)
    facts = None if state is None else state.data_facts()
    if facts is not None and (picture in facts.inputs or result in facts.targets):
        raise DataError(
            "NNM702",
            "the dataset of this model standardises its pictures, number by number",
            hint="train it without `standardize`, or use predict",
        )
