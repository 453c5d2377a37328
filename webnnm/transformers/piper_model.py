"""Voices of Piper: an ONNX file of a VITS, and the JSON file beside it, as a model of the hub.

The graph of such a file has sizes that follow from its data, and draws random numbers itself. Its
tensors are those of a VITS under other names: here they become one, in the two parts that
`webnnm.transformers.architectures.vits` writes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.files.downloads import Downloads
from webnnm.data.files.existing import is_file, is_folder
from webnnm.formats.fields import Fields
from webnnm.formats.onnx.messages import GraphProto, NodeProto
from webnnm.formats.onnx.reader import read_model
from webnnm.formats.onnx.tensors import DTYPES, host_array
from webnnm.snapshots.safetensors import CODES, StoredTensor
from webnnm.transformers.config import read_object
from webnnm.transformers.pretrained import CONFIG, Folder, text_of_folder

MODEL, SETTINGS = ".onnx", ".onnx.json"
PHONEMES = "phoneme_id_map"
"""The key of the settings, and of the config, with the numbers of phonemes."""
SHIFT, STRETCH = "dp.flows.0.m", "dp.flows.0.logs"
"""The tensors of the last flow of durations."""
LAYER = r"text_encoder.encoder.layers.\1"
RENAMED = (
    (r"^enc_p\.encoder\.attn_layers\.(\d+)\.conv_([qkv])\.", rf"{LAYER}.attention.\2_proj."),
    (r"^enc_p\.encoder\.attn_layers\.(\d+)\.conv_o\.", rf"{LAYER}.attention.out_proj."),
    (r"^enc_p\.encoder\.attn_layers\.(\d+)\.", rf"{LAYER}.attention."),
    (r"^enc_p\.encoder\.norm_layers_1\.(\d+)\.", rf"{LAYER}.layer_norm."),
    (r"^enc_p\.encoder\.norm_layers_2\.(\d+)\.", rf"{LAYER}.final_layer_norm."),
    (r"^enc_p\.encoder\.ffn_layers\.(\d+)\.", rf"{LAYER}.feed_forward."),
    (r"^enc_p\.proj\.", "text_encoder.project."),
    (r"^enc_p\.emb\.", "text_encoder.embed_tokens."),
    (r"^emb_g\.", "embed_speaker."),
    (r"^dec\.ups\.", "decoder.upsampler."),
    (r"^dec\.", "decoder."),
    (r"^(flow\.flows\.\d+)\.enc\.", r"\1.wavenet."),
    (r"^(flow\.flows\.\d+|dp|dp\.flows\.\d+)\.(pre|post|proj)\.", r"\1.conv_\2."),
    (r"^(dp|dp\.flows\.\d+)\.convs\.", r"\1.conv_dds."),
    (r"\.convs_sep\.", ".convs_dilated."),
    (r"\.convs_1x1\.", ".convs_pointwise."),
    (r"^dp\.flows\.0\.m$", "dp.flows.0.translate"),
    (r"^dp\.flows\.0\.logs$", "dp.flows.0.log_scale"),
    (r"^dp\.", "duration_predictor."),
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
)
"""Patterns of names in files of Piper → names in those of `transformers`, one after the other."""


class Piper(NamedTuple):
    """A voice: the files that a folder of it would have beside its weights, and these."""

    files: Mapping[str, bytes]
    tensors: Mapping[str, StoredTensor]


async def open_piper(source: Folder, how: Downloads) -> Piper | None:
    """Return the voice of a path or an address ending in `.onnx`, of a folder or files that have
    such a file with a `.onnx.json` beside it; None for other sources.

    Raises `DataError` NNM715 for a missing file, NNM801 and NNM818 for damaged ones, NNM805 for a
    model that is no voice of Piper.
    """
    folder, name = _find_voice(source)
    if not name:
        return None
    settings = read_object(await text_of_folder(folder, name + SETTINGS), name + SETTINGS)
    if isinstance(folder, Mapping):
        location: Any = folder[name + MODEL]
        data = await how.bytes(location) if isinstance(location, str | Path) else location
    else:
        data = await how.bytes(f"{folder}/{name}{MODEL}" if folder else name + MODEL)
    graph = read_model(data).graph or GraphProto()
    voice = _Voice(graph, settings)
    config = json.dumps(voice.read_config()).encode()
    return Piper({CONFIG: config}, voice.tensors)


def _find_voice(source: Folder) -> tuple[Folder, str]:
    """Return where a voice is, and the name that its two files share, "" if there is none."""
    if isinstance(source, Mapping):
        stems = [name.removesuffix(SETTINGS) for name in source if name.endswith(SETTINGS)]
        if CONFIG in source or len(stems) != 1 or stems[0] + MODEL not in source:
            return source, ""
        return source, stems[0]
    text = str(source)
    if text.endswith(MODEL):
        folder, _, name = text.rpartition("/")
        return folder or ".", name.removesuffix(MODEL)
    if "://" in text or is_file(Path(text, CONFIG)) or not is_folder(text):
        return source, ""
    names = [path.name.removesuffix(SETTINGS) for path in Path(text).glob(f"*{SETTINGS}")]
    return source, names[0] if len(names) == 1 else ""


class _Voice:
    """A graph of Piper: its tensors by the names of `transformers`, and what their sizes say."""

    def __init__(self, graph: GraphProto, settings: Fields) -> None:
        self._settings = settings
        self._values = {tensor.name: tensor for tensor in graph.initializer}
        self._by_weight: dict[str, NodeProto] = {}
        arrays = {
            name: host_array(tensor)
            for name, tensor in self._values.items()
            if DTYPES.get(tensor.data_type) in ("float32", "float16")
        }
        names = dict[str, str]()
        is_shifted = {
            output
            for node in graph.node
            if node.op_type == "Sub" and SHIFT in node.input
            for output in node.output
        }
        for node in graph.node:
            operands = [*node.input, "", ""]
            if node.op_type in ("Conv", "ConvTranspose"):
                # Weights that had a norm have lost their name; those of their biases are there.
                bias = operands[2]
                own = operands[1] if bias not in arrays else re.sub(r"bias$", "weight", bias)
                names[operands[1]] = own
                self._by_weight[_rename(own)] = node
            elif node.op_type == "Gather" and operands[1] == "input":
                names[operands[0]] = "enc_p.emb.weight"
            elif node.op_type == "Gather" and operands[1] == "sid":
                names[operands[0]] = "emb_g.weight"
            elif node.op_type == "Mul" and is_shifted & {*node.input}:
                # The factors of the last flow are folded: exponentials of what was trained.
                factors = [arrays[name] for name in node.input if name in arrays]
                for factor in factors:
                    logs = [-math.log(value) for value in factor.values()]
                    arrays[STRETCH] = HostArray.of(logs, "float32", factor.shape)
        is_stochastic = SHIFT in arrays
        self.tensors: dict[str, StoredTensor] = {}
        for name, array in arrays.items():
            renamed = _rename(names.get(name, name))
            if not is_stochastic:
                renamed = renamed.replace("duration_predictor.conv_proj", "duration_predictor.proj")
            if renamed.startswith(("text_encoder.", "duration_", "flow.", "decoder.", "embed_")):
                shape = array.shape
                if re.search(r"attention\.\w+_proj\.weight$", renamed):
                    shape = shape[:2]
                data = memoryview(array.data).cast("B")
                self.tensors[renamed] = StoredTensor(CODES[array.dtype], shape, data)

    def read_config(self) -> dict[str, Any]:
        """Return the config of `transformers` for the voice."""
        settings = self._settings
        audio = Fields.of(settings.object("audio"), settings.file)
        inference = Fields.of(settings.object("inference"), settings.file)
        vocabulary, width = self._shape("text_encoder.embed_tokens.weight")
        rows, head_size = self._shape("text_encoder.encoder.layers.0.attention.emb_rel_k")[1:]
        inner, _, kernel = self._shape("text_encoder.encoder.layers.0.feed_forward.conv_1.weight")
        near_weight = "flow.flows.{}.wavenet.in_layers.{}.weight"
        depth = self._count(near_weight.format(0, "{}"))
        rates = [
            self._attribute(near_weight.format(0, k), "dilations", 1) for k in range(min(2, depth))
        ]
        speakers = settings.integer("num_speakers", 1, 1)
        stochastic = "duration_predictor.conv_pre.weight" in self.tensors
        return {
            "model_type": "vits",
            "architectures": ["VitsModel"],
            "vocab_size": vocabulary,
            "hidden_size": width,
            "num_hidden_layers": self._count("text_encoder.encoder.layers.{}.attention.emb_rel_k"),
            "num_attention_heads": width // head_size,
            "window_size": rows // 2,
            "use_bias": "text_encoder.encoder.layers.0.attention.q_proj.bias" in self.tensors,
            "ffn_dim": inner,
            "ffn_kernel_size": kernel,
            "flow_size": self._shape("text_encoder.project.weight")[0] // 2,
            "prior_encoder_num_flows": self._count("flow.flows.{}.conv_pre.weight"),
            "prior_encoder_num_wavenet_layers": depth,
            "wavenet_kernel_size": self._shape(near_weight.format(0, 0))[2],
            "wavenet_dilation_rate": rates[-1] // rates[0],
            "num_speakers": speakers,
            "speaker_embedding_size": self._shape("embed_speaker.weight")[1] if speakers > 1 else 0,
            "use_stochastic_duration_prediction": stochastic,
            **(self._read_splines() if stochastic else self._read_predictor()),
            **self._read_decoder(),
            "sampling_rate": audio.integer("sample_rate", 22_050, 1),
            "noise_scale": inference.number("noise_scale", 0.667),
            "noise_scale_duration": inference.number("noise_w", 0.8),
            "speaking_rate": 1 / inference.number("length_scale", 1.0, above=0),
            "phoneme_type": settings.text("phoneme_type", "espeak"),
            PHONEMES: settings.object(PHONEMES),
        }

    def _read_splines(self) -> dict[str, Any]:
        module = "duration_predictor"
        flows = [
            int(match[1])
            for name in self.tensors
            if (match := re.match(rf"{module}\.flows\.(\d+)\.conv_pre\.weight$", name))
        ]
        if not flows:
            raise _refuse(f"{module}.flows.1.conv_pre.weight")
        last = f"{module}.flows.{max(flows)}"
        return {
            "duration_predictor_num_flows": max(flows),
            "duration_predictor_kernel_size": self._shape(
                f"{module}.conv_dds.convs_dilated.0.weight"
            )[2],
            "depth_separable_num_layers": self._count(module + ".conv_dds.convs_dilated.{}.weight"),
            "duration_predictor_flow_bins": (self._shape(f"{last}.conv_proj.weight")[0] + 1) // 3,
        }

    def _read_predictor(self) -> dict[str, Any]:
        filters, _, kernel = self._shape("duration_predictor.conv_1.weight")
        return {
            "duration_predictor_filter_channels": filters,
            "duration_predictor_kernel_size": kernel,
        }

    def _read_decoder(self) -> dict[str, Any]:
        growing = "decoder.upsampler.{}.weight"
        stages = self._count(growing)
        blocks = self._count("decoder.resblocks.{}.convs1.0.weight")
        convolutions = "convs1" if blocks else "convs"
        blocks = blocks or self._count("decoder.resblocks.{}.convs.0.weight")
        kinds = range(blocks // max(1, stages))
        path = "decoder.resblocks.{}." + convolutions + ".{}.weight"
        return {
            "upsample_initial_channel": self._shape("decoder.conv_pre.weight")[0],
            "upsample_rates": [
                self._attribute(growing.format(k), "strides", 1) for k in range(stages)
            ],
            "upsample_kernel_sizes": [self._shape(growing.format(k))[2] for k in range(stages)],
            "resblock_kernel_sizes": [self._shape(path.format(k, 0))[2] for k in kinds],
            "resblock_dilation_sizes": [
                [
                    self._attribute(path.format(k, n), "dilations", 1)
                    for n in range(self._count(path.format(k, "{}")))
                ]
                for k in kinds
            ],
            "resblock_type": 1 if convolutions == "convs1" else 2,
        }

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self.tensors:
            raise _refuse(name)
        return tuple(self.tensors[name].shape)

    def _count(self, pattern: str) -> int:
        """Return how many tensors are numbered from 0 on."""
        number = 0
        while pattern.format(number) in self.tensors:
            number += 1
        return number

    def _attribute(self, weight: str, name: str, default: int) -> int:
        """Return an attribute of the convolution with a weight."""
        if weight not in self._by_weight:
            raise _refuse(weight)
        attributes = {one.name: one.ints for one in self._by_weight[weight].attribute}
        return next(iter(attributes.get(name, [])), default)


def _rename(name: str) -> str:
    """Return the name of a tensor in `transformers`.

    >>> _rename("flow.flows.4.enc.in_layers.0.bias"), _rename("dp.flows.7.pre.weight")
    ('flow.flows.2.wavenet.in_layers.0.bias', 'duration_predictor.flows.4.conv_pre.weight')
    """
    for pattern, replacement in RENAMED:
        name = re.sub(pattern, replacement, name)

    def renumber(match: re.Match[str]) -> str:
        number = int(match[2])
        # Between flows, these files count what turns them around.
        return f"{match[1]}{number // 2 if match[1] == 'flow.flows.' else (number + 1) // 2}"

    return re.sub(r"^(flow\.flows\.|duration_predictor\.flows\.)(\d+)", renumber, name)


def _refuse(name: str) -> DataError:
    message = f"the ONNX file is no voice of Piper: it has no {name}"
    return DataError("NNM805", message, hint="load_onnx opens other models")
