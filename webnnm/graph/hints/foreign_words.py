"""Words of Keras, PyTorch and TensorFlow, and what to write for them in the notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webnnm.core.errors import Remedy, suggestion
from webnnm.core.spelling import normalize_name
from webnnm.graph.hints.foreign_layers import LAYERS

_BATCH = "leave it out: the batch comes first, and no shape includes it"
_INFERRED = "leave it out: sizes are inferred from the input"
_OWN_LAYER = "write the activation as a layer of its own after this one, such as relu()"
_BIAS = "write add(b) after this layer"
_PORT_TYPE = "write the data type before the shape, such as input float16 shape=[4]"
_CROSS_ENTROPY = "write CCE for one-hot labels, SCE for class numbers, BCE for yes/no"

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "activation": (_OWN_LAYER,),
    "approximate": ("leave it out: gelu() is exact, geluTanh() computes it by tanh",),
    "axes": ("axis", "coords"),
    "axis": ("axes", "coords"),
    "autopad": ("write padding=same",),
    "attentionmask": ("mask",),
    "attnmask": ("mask",),
    "batchfirst": (_BATCH,),
    "batchsize": (_BATCH,),
    "bias": (_BIAS,),
    "bidirectional": ("write direction=both",),
    "dilationrate": ("dilations",),
    "dim": ("axis", "axes"),
    "dropoutrate": ("p", "dropout"),
    "embeddingdim": ("shape",),
    "eps": ("epsilon",),
    "hidden": ("hiddenSize",),
    "hiddendim": ("hiddenSize",),
    "inchannels": (_INFERRED,),
    "infeatures": (_INFERRED,),
    "inplace": ("leave it out: layers never change their operands",),
    "inputdim": ("size", _INFERRED),
    "inputshape": (_INFERRED,),
    "inputsize": (_INFERRED,),
    "keepdim": ("keepDimensions",),
    "keepdims": ("keepDimensions",),
    "kernelinitializer": ("init",),
    "kernelsize": ("kernel", "windowDimensions"),
    "keydim": ("headSize",),
    "maxlen": ("size",),
    "negativeslope": ("alpha",),
    "nhead": ("heads",),
    "numembeddings": ("size",),
    "numheads": ("heads",),
    "outchannels": ("filters", "shape"),
    "outfeatures": ("shape",),
    "outputdim": ("shape",),
    "poolsize": ("windowDimensions",),
    "prob": ("p",),
    "rate": ("p",),
    "returnsequences": ("returnSequence",),
    "scalefactor": ("scales",),
    "size": ("shape", "sizes"),
    "selectlastindex": ("leave it out: after reverse(axes=[-1]) the last one comes first",),
    "steepness": ("write mul(2), softplus(), mul(0.5) for a steepness of 2",),
    "targetshape": ("newShape",),
    "units": ("hiddenSize", "shape"),
    "usebias": ("bias", _BIAS),
    "vocabsize": ("size",),
}
"""Options by their names elsewhere: the candidates in the notation, or what to write."""

PORTS: Mapping[str, str] = {
    "activation": "write the activation as the last layer, such as softmax()",
    "datatype": _PORT_TYPE,
    "dtype": _PORT_TYPE,
    "loss": "write a statement of its own, such as m:loss MSE;",
    "type": _PORT_TYPE,
}
"""Options of inputs and outputs by their names elsewhere, and what to write."""

LOSSES: Mapping[str, str] = {
    "bceloss": "BCE",
    "bcewithlogits": "BCEL",
    "bcewithlogitsloss": "BCEL",
    "crossentropy": _CROSS_ENTROPY,
    "crossentropyloss": _CROSS_ENTROPY,
    "hingeembeddingloss": "HIL",
    "kl": "KLD",
    "kldiv": "KLD",
    "kldivloss": "KLD",
    "l1": "MAE",
    "l1loss": "MAE",
    "l2": "MSE",
    "logcosh": "HUL",
    "logloss": "BCE",
    "maeloss": "MAE",
    "mseloss": "MSE",
    "nll": "SCE",
    "nllloss": "SCE",
    "rmse": "MSE",
    "smoothl1": "HUL",
    "smoothl1loss": "HUL",
    "xent": _CROSS_ENTROPY,
}
"""Losses by their names elsewhere: a loss of the notation, or what to write."""

BATCH_WORDS = {"null", "none", "batch", "batchsize", "bs"}
"""Words used elsewhere for the batch size, folded."""


def layer_hint(name: str, names: Iterable[str]) -> str:
    """Return the layer or hint for a name of another library.

    >>> layer_hint("frobnicate", ["relu"])
    'declare it first: a block, frobnicate:layers …;, or an operator of your own with @composite'
    """
    hint = _make_hint(name, LAYERS.get(normalize_name(name), "")) or suggestion(name, names)
    alternatives = f"a block, {name}:layers …;, or an operator of your own with @composite"
    return hint or f"declare it first: {alternatives}"


def option_hint(option: str, names: Iterable[str]) -> str:
    """Return what to write in place of an option that a layer does not have, "" if that is unknown.

    >>> option_hint("kernel_size", ["filters", "kernel"])
    'write "kernel"'
    """
    names = list(names)
    candidates = OPTIONS.get(normalize_name(option), ())
    entry = next((name for name in candidates if " " in name or name in names), "")
    return _make_hint(option, entry) or suggestion(option, names)


def port_hint(option: str) -> str:
    """Return what to write in place of an option of an input or output.

    >>> port_hint("sequnce")
    'did you mean "sequence"?'
    """
    return PORTS.get(normalize_name(option), "") or suggestion(option, ["sequence"])


def loss_hint(name: str, names: Iterable[str]) -> str:
    """Return what to write in place of an unknown loss, "" if that is unknown."""
    return _make_hint(name, LOSSES.get(normalize_name(name), "")) or suggestion(name, names)


def _make_hint(name: str, entry: str) -> str:
    """Return an entry of a table as a hint; an entry without spaces is a replacement."""
    if " " in entry or not entry:
        return entry
    return Remedy(f'write "{entry}"', entry, word=name)
