"""Words of Keras, PyTorch and TensorFlow, and what to write for them in the notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webnnm.core.errors import Remedy, suggestion
from webnnm.core.spelling import folded

_DENSE = (
    "a dense layer is a block of two layers and an activation:\n"
    "    dense:layers matmul(w, shape=[units]), add(b), activation();\n"
    "    … dense(units=64, activation=relu), …"
)
_BATCH = "leave it out: the batch comes first, and no shape includes it"
_INFERRED = "leave it out: sizes are inferred from the input"
_OWN_LAYER = "write the activation as a layer of its own after this one, such as relu()"
_BIAS = "write add(b) after this layer"
_CROSS_ENTROPY = "write CCE for one-hot labels, SCE for class numbers, BCE for yes/no"

LAYERS: Mapping[str, str] = {
    "activation": "write the activation as a layer: relu()",
    "adaptiveavgpool2d": "globalAveragePool",
    "attention": "attend",
    "averagepooling2d": "averagePool2d",
    "avgpool2d": "averagePool2d",
    "batchnorm1d": "batchNormalization",
    "batchnorm2d": "batchNormalization",
    "bidirectional": "write direction=both in lstm or gru",
    "bmm": "matmul",
    "cat": "concat",
    "concatenate": "concat",
    "conv2dtranspose": "convTranspose2d",
    "dense": _DENSE,
    "divide": "div",
    "dot": "matmul",
    "dropout2d": "dropout",
    "einsum": "matmul",
    "fc": _DENSE,
    "fullyconnected": _DENSE,
    "globalaveragepooling2d": "globalAveragePool",
    "globalavgpool2d": "globalAveragePool",
    "hardtanh": "write clamp(minValue=-1, maxValue=1)",
    "input": "write it as a statement: model:input shape=[…];",
    "inputlayer": "write it as a statement: model:input shape=[…];",
    "instancenorm2d": "instanceNormalization",
    "interpolate": "resample2d",
    "linear": _DENSE,
    "maxpooling2d": "maxPool2d",
    "mean": "reduceMean",
    "mish": "define it: mish:layers softplus(), tanh(), mul(input);",
    "mm": "matmul",
    "multiheadattention": "attend",
    "multiply": "mul",
    "permute": "transpose",
    "relu6": "write clamp(minValue=0, maxValue=6)",
    "rnn": "gru",
    "selfattention": "attend",
    "simplernn": "gru",
    "spatialdropout2d": "dropout",
    "subtract": "sub",
    "sum": "reduceSum",
    "swish": "silu",
    "timedistributed": "leave it out: layers work on every position of a sequence",
    "upsample": "resample2d",
    "upsampling2d": "resample2d",
    "view": "reshape",
    "zeropadding2d": "pad",
}
"""Layers by their names elsewhere: an operator of the notation, or what to write."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "activation": (_OWN_LAYER,),
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
    "targetshape": ("newShape",),
    "units": ("hiddenSize", "shape"),
    "usebias": ("bias", _BIAS),
    "vocabsize": ("size",),
}
"""Options by their names elsewhere: the candidates in the notation, or what to write."""

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


def layer_hint(word: str, known: Iterable[str]) -> str:
    """Return what to write in place of an unknown layer, "" if that is unknown."""
    return _said(word, LAYERS.get(folded(word), "")) or suggestion(word, known)


def option_hint(word: str, known: Iterable[str]) -> str:
    """Return what to write in place of an option that a layer does not have, "" if that is unknown.

    >>> option_hint("kernel_size", ["filters", "kernel"])
    'write "kernel"'
    """
    known = list(known)
    found = OPTIONS.get(folded(word), ())
    meant = next((name for name in found if " " in name or name in known), "")
    return _said(word, meant) or suggestion(word, known)


def loss_hint(word: str, known: Iterable[str]) -> str:
    """Return what to write in place of an unknown loss, "" if that is unknown."""
    return _said(word, LOSSES.get(folded(word), "")) or suggestion(word, known)


def _said(word: str, entry: str) -> str:
    """Return an entry of a table as a hint: a bare word is the replacement for another word."""
    if " " in entry or not entry:
        return entry
    return Remedy(f'write "{entry}"', entry, word=word)
