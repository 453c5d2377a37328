"""The meanings of the fixed words of the notation, one line each."""

from __future__ import annotations

PROPERTIES = {
    "name": "the name of the model in logs and files",
    "input": "the block takes data of this shape, float32 by default",
    "output": "the result of the block is an output of the model",
    "layers": "the layers of the block, applied in this order",
    "source": "the layers of the block are the graph in an ONNX file",
    "loss": "the loss of the output",
    "delta": "where the Huber loss turns from quadratic to linear",
    "gamma": "the exponent of the focal loss",
    "alpha": "the weights of the focal loss",
    "constants": "constant tensors",
    "param": "declared parameters, which layers may share",
}
"""Of `block:property`."""

LAYER_OPTIONS = {
    "shape": "shape of the result, from which weights get theirs",
    "shapes": "one repetition for each of these shapes",
    "repeat": "how often the layer is applied, each time with its own parameters",
    "name": "a name by which other layers refer to this one",
    "node": "input of the layer, instead of the result of the layer before",
    "dataType": "the data type in which the layer computes",
    "lrm": "learning rate multiplier for the parameters of the layer",
    "init": "how the weights of the layer are initialised",
    "trainable": "false freezes the parameters of the layer",
}
"""Of every layer."""

TENSOR_OPTIONS = {
    "sequence": "name of the dimension of variable length, or its fixed length",
    "init": "how the parameter is initialised",
    "trainable": "false freezes the parameter",
    "lrm": "factor of the learning rate",
    "decay": "false leaves the parameter out of weight decay",
    "shared": "false gives each use of the block its own parameter",
    "at": "which result of the file to use",
}
"""After the shape of a declaration, or a file."""

INITIALISERS = {
    "zeros": "all 0",
    "ones": "all 1",
    "constant": "all the same: constant(0.5)",
    "normal": "normal with a standard deviation: normal(0.02)",
    "truncatedNormal": "normal, without values beyond two standard deviations",
    "uniform": "uniform between two numbers: uniform(-0.1, 0.1)",
    "he": "uniform by fan-in, for rectifiers",
    "heNormal": "normal by fan-in, for rectifiers",
    "glorot": "uniform by fan-in and fan-out",
    "glorotNormal": "normal by fan-in and fan-out",
}
