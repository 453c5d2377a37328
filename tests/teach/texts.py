"""Texts of models that many cases share."""

from __future__ import annotations

DENSE = "dense:layers matmul(w), add(b), activation();"


CONVOLVED = (
    "conv2d(f, filters=8, kernel=3, padding=same, bias=a), relu(), "
    "maxPool2d(windowDimensions=2, strides=2), flatten(), "
    "matmul(v, shape=[32]), add(c), relu(), matmul(w), add(b), softmax()"
)
"""The layers of a classifier of small pictures."""


def dense(units: int, activation: str = "relu", **options: object) -> str:
    """Return a dense layer; its text needs the macro `DENSE`."""
    more = "".join(f", {name}={value}" for name, value in options.items())
    return f"dense(shape=[{units}], activation={activation}{more})"


def model(inputs: int | str, layers: str, outputs: int, loss: str = "") -> str:
    """Return the text of a model with one input and one output, with the macro `DENSE`.

    `inputs` is how many features there are, or all that stands behind `model:input`.
    """
    given = f"shape=[{inputs}]" if isinstance(inputs, int) else inputs
    said = f" model:loss {loss};\n" if loss else ""
    return (
        f"model:input {given};\nmodel:output shape=[{outputs}];\n{said}"
        f"model:layers {layers};\n{DENSE}\n"
    )


def classifier(inputs: int, hidden: tuple[int, ...], classes: int, loss: str = "") -> str:
    """Return dense layers with relu, and a softmax."""
    layers = [*(dense(units) for units in hidden), dense(classes, "softmax")]
    return model(inputs, ", ".join(layers), classes, loss)


def regressor(inputs: int, hidden: tuple[int, ...], outputs: int = 1, loss: str = "") -> str:
    """Return dense layers with relu, and one without activation."""
    layers = [*(dense(units) for units in hidden), dense(outputs, "identity")]
    return model(inputs, ", ".join(layers), outputs, loss)


def yes_or_no(inputs: int, hidden: tuple[int, ...], loss: str = "") -> str:
    """Return dense layers with relu, and one sigmoid."""
    layers = [*(dense(units) for units in hidden), dense(1, "sigmoid")]
    return model(inputs, ", ".join(layers), 1, loss)
