"""Flows of VITS: layers that can be inverted, whose shifts come from WaveNets.

Sources: L. Dinh et al., "Density estimation using Real NVP", arXiv:1605.08803 (2016); A. van den
Oord et al., "WaveNet: A generative model for raw audio", arXiv:1609.03499 (2016).
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Form, Reshaped, Transposed
from webnnm.transformers.architectures.model_text import layers, linear_layers
from webnnm.transformers.architectures.parameter_names import MakeForm, ParameterNames

WEIGHT_NORM = ("weight.original0", "weight.original1")
"""The names of the norms of a weight and of its directions; those of older files are shorter."""
VOICE = "voice"
"""The input of the decoder with the embedding of a speaker."""


class Coupling(NamedTuple):
    """The sizes of the flows.

    Attributes: `channels`, of what flows; `width`, of the WaveNets, each of `depth` layers with
    convolutions of a `kernel`, whose dilations grow by `dilation`; `speaker`, the size of the
    embeddings of speakers, 0 for none; `is_normed`, whether weights have norms of their own, and
    `is_older`, whether these have older names.
    """

    count: int
    channels: int
    width: int
    depth: int
    kernel: int
    dilation: int
    speaker: int
    is_older: bool
    is_normed: bool


def call_flows(flows: Coupling) -> str:
    """Return the layer that undoes all flows."""
    return f"flow(repeat={flows.count})"


def flow_blocks(flows: Coupling, mask: str) -> list[str]:
    """Return the statements of what `call_flows` calls; `mask` names numbers `[1]` per frame."""
    half, width, depth = flows.channels // 2, flows.width, flows.depth
    doubled = 2 * width
    matrices = {"carry": (doubled, width)} if depth > 1 else {}
    matrices["last"] = (width, width)
    if flows.speaker:
        matrices["speaker_shift"] = (doubled * depth, flows.speaker)
    declared = [_declare(flows, "wave", "near", (doubled, width, flows.kernel))]
    declared += [_declare(flows, block, block, sizes) for block, sizes in matrices.items()]
    statements = [
        *declared,
        f"flow:layers\n{_write_flow(flows, mask, half)}",
        f"wave:layers\n{_write_wave(flows)}",
        f"last:layers\n{_write_product(flows, 'last')}",
    ]
    if depth > 1:
        rows = layers(
            _write_product(flows, "carry"),
            f"split([{width}, {width}], axis=-1, name=part)",
            "identity(node=part.1, name=skip)",
            "add([part.0, base])",
            f"mul({mask})",
        )
        statements.append(f"carry:layers\n{rows}")
    if flows.speaker:
        statements += [
            f"speaker_shift:param speaker_shift_b shape=[{doubled * depth}] shared=false",
            f"speaker_shift:layers\n{_write_product(flows, 'speaker_shift')}",
        ]
    return statements


def _declare(flows: Coupling, block: str, parameter: str, sizes: tuple[int, ...]) -> str:
    """Return the statement of a weight, and of its norms, one per result, if it has them."""
    scale = f"{parameter}_scale shape={[sizes[0], *[1] * (len(sizes) - 1)]} shared=false, "
    filters = f"{parameter}_filter shape={[*sizes]} shared=false"
    return f"{block}:param {scale if flows.is_normed else ''}{filters}"


def _write_flow(flows: Coupling, mask: str, half: int) -> str:
    shifts: list[str] = []
    if flows.speaker:
        sizes = [2 * flows.width] * flows.depth
        shifts = [
            f"speaker_shift(node={VOICE})",
            f"split({sizes}, axis=-1, name=shift)" if flows.depth > 1 else "identity(name=shift)",
        ]
    rows: list[str] = []
    source = "prepared"
    for index in range(flows.depth):
        dilation = flows.dilation**index
        options = f"dilations={dilation}, padding={dilation * (flows.kernel - 1) // 2}"
        if flows.speaker:
            options += f", shift={'shift' if flows.depth == 1 else f'shift.{index}'}"
        rows.append(f"wave({options}, node={source})")
        if index + 1 < flows.depth:
            rows.append(f"carry(base={source}, name=carried{index})")
            source = f"carried{index}"
        else:
            rows.append("last()")
    skips = ", ".join(f"carried{index}.skip" for index in range(flows.depth - 1))
    return layers(
        "reverse(axes=[-1])",
        f"split([{half}, {half}], axis=-1, name=half)",
        *shifts,
        f"matmul(enter, node=half.0, shape=[{flows.width}])",
        "add(enter_b)",
        f"mul({mask}, name=prepared)",
        *rows,
        "identity(name=ended)" if skips else "",
        f"add([{skips}, ended])" if skips else "",
        f"mul({mask})",
        *linear_layers("leave", half),
        f"mul({mask}, name=mean)",
        "sub([half.1, mean])",
        f"mul({mask}, name=moved)",
        "concat([half.0, moved], axis=-1)",
    )


def _write_wave(flows: Coupling) -> str:
    """Return the layers of a gated convolution."""
    norm, kernel = _write_kernel(flows, "near", [1, 2])
    return layers(
        *norm,
        f"conv1d({kernel}, node=input, filters={2 * flows.width}, kernel={flows.kernel}, "
        "dilations=dilations, padding=padding, bias=near_b)",
        "add(shift)" if flows.speaker else "",
        f"split([{flows.width}, {flows.width}], axis=-1, name=gate)",
        "tanh(node=gate.0, name=value)",
        "sigmoid(node=gate.1)",
        "mul(value)",
    )


def _write_product(flows: Coupling, block: str) -> str:
    """Return the layers of a product with a matrix that has a row for each result."""
    norm, kernel = _write_kernel(flows, block, [1])
    return layers(
        *norm,
        f"matmul({kernel}, node=input, bTranspose=true)",
        f"add({block}_b)",
    )


def _write_kernel(flows: Coupling, parameter: str, axes: list[int]) -> tuple[tuple[str, ...], str]:
    """Return the layers that make a kernel of its norms and directions, and what it is called."""
    filters = f"{parameter}_filter"
    if not flows.is_normed:
        return (), filters
    norm = (
        f"reduceL2(node={filters}, axes={axes}, keepDimensions=true, name=lengths)",
        f"div([{filters}, lengths])",
        f"mul({parameter}_scale, name=kernel)",
    )
    return norm, "kernel"


def name_flows(parameters: ParameterNames, flows: Coupling, module: str) -> None:
    """Record the tensors of all flows, the last one first; `module` is where they are."""
    half, width, depth = flows.channels // 2, flows.width, flows.depth
    for number in reversed(range(flows.count)):
        layer = f"{module}.{number}"
        if flows.speaker:
            size, shift = 2 * width * depth, f"{layer}.wavenet.cond_layer"
            _name_normed(parameters, flows, "speaker_shift", shift, (size, flows.speaker))
            parameters.declare("speaker_shift_b", f"{shift}.bias")
        parameters.weight("enter", f"{layer}.conv_pre", make_product(half, width))
        for index in range(depth):
            near = f"{layer}.wavenet.in_layers.{index}"
            skip = f"{layer}.wavenet.res_skip_layers.{index}"
            block, size = ("last", width) if index + 1 == depth else ("carry", 2 * width)
            _name_normed(parameters, flows, "near", near)
            _name_normed(parameters, flows, block, skip, (size, width))
            parameters.record("near_b", f"{near}.bias")
            parameters.record(f"{block}_b", f"{skip}.bias")
        parameters.weight("leave", f"{layer}.conv_post", make_product(width, half))


def make_product(inner: int, outer: int) -> MakeForm:
    """Return the form of a convolution with a kernel of 1 as the matrix of a product."""
    return lambda name: Transposed(Reshaped(name, (outer, inner)))


def _name_normed(
    parameters: ParameterNames,
    flows: Coupling,
    parameter: str,
    layer: str,
    matrix: tuple[int, int] | None = None,
) -> None:
    """Record a weight, or its norms and directions: of a filter, or a `matrix` of such a size."""
    make_scale: MakeForm = str
    make_filter: MakeForm = str
    if matrix is not None:
        rows, columns = matrix

        def make_scale(name: str) -> Form:
            return Reshaped(name, (rows, 1))

        def make_filter(name: str) -> Form:
            return Reshaped(name, (rows, columns))

    if not flows.is_normed:
        parameters.declare(f"{parameter}_filter", f"{layer}.weight", make_filter)
        return
    stem = layer if flows.is_older else f"{layer}.parametrizations"
    scale, filters = ("weight_g", "weight_v") if flows.is_older else WEIGHT_NORM
    parameters.declare(f"{parameter}_scale", f"{stem}.{scale}", make_scale)
    parameters.declare(f"{parameter}_filter", f"{stem}.{filters}", make_filter)
