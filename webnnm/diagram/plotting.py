"""The diagram of a model."""

from __future__ import annotations

from webnnm.diagram.diagram import Diagram
from webnnm.diagram.networks import network_drawing
from webnnm.model.report import parameter_count
from webnnm.runtime.state import HasState


def plot_model(model: HasState, depth: int | None = None) -> Diagram:
    """Return a diagram of the network, which notebooks show as a picture.

    >>> import asyncio
    >>> from webnnm import NNModel, plot_model
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> async def main():
    ...     model = await NNModel.create(source=text, backend="numpy", log=lambda _: None)
    ...     print(plot_model(model).mermaid(), end="")
    >>> asyncio.run(main())
    flowchart TB
      n0(["m:input"])
      n1["matmul<br>w1 [4, 3]"]
      n2["softmax"]
      n3(["m:output"])
      n0 -->|"[4]"| n1
      n1 -->|"[3]"| n2
      n2 -->|"[3]"| n3

    - `depth`: how many levels of blocks are expanded, 0 for none; by default the outermost
      ones, while there are few boxes.

    Copies made by `repeat=` are one box. Edges show shapes; the length of a bar is proportional
    to the square root of the parameter count; layers that were rewritten for the device are
    framed, with a tooltip that names the rewrite.
    """
    state = model.state
    title = f"{state.network.name or 'model'}: {parameter_count(state.network)}"
    caption = f"{title}, running on {state.backend.description}"
    rewrites = state.backend.rewrites
    return Diagram(network_drawing(state.network, depth=depth, rewrites=rewrites, caption=caption))
