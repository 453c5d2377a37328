"""The network beside its text: units with what they make of the plane, weights, and edits.

Networks that are no plain stack of dense layers are drawn as a diagram instead.
"""

import asyncio
import json

from dense_layers import (
    MAX_COLUMNS,
    UneditableError,
    expose_columns,
    find_columns,
    insert_layer,
    remove_layer,
    set_units,
)
from diagram import ModelDiagram
from page import element, sentence, show_error, show_error_text
from pyscript import document, ffi
from pyscript.js_modules import network as drawing
from weight_edits import MAX_VALUE

from webnnm import ModelError

MAX_UNITS = 8
"""Units of a layer that are drawn; of others there is the number."""


class NetworkView:
    """What #network-view shows of the network of an editor.

    - `describe_ends()` returns the names of the inputs and of the classes.
    - `sample_inputs()` returns the inputs at each cell of the plane, as rows.
    - `on_edit(text)` is called with the text that a button asks for, and `on_look()` when another
      unit is looked at, or none any more.
    - `on_weight(column, source, unit, value)` is awaited with a weight that somebody sets, as
      `write` takes it.
    """

    def __init__(self, editor, *, describe_ends, sample_inputs, on_edit, on_look, on_weight):
        self.editor = editor
        self.describe_ends, self.sample_inputs = describe_ends, sample_inputs
        self.on_edit, self.on_look, self.on_weight = on_edit, on_look, on_weight
        self.looked = None
        self.columns = self.diagram = self.drawn = None
        self.context = self.model = None
        self.callback = ffi.create_proxy(self.act)

    def start(self):
        """Draw the network that is written, and every one that is written from now on."""
        self.editor.on_network = self.show
        if self.editor.network:
            self.show(self.editor.network)

    def show(self, network):
        """Draw a network, of which nothing is known yet, unless it is drawn already."""
        self.columns = find_columns(network)
        element("network-view").hidden = self.columns is None
        element("diagram-view").hidden = self.columns is not None
        if self.columns is None:
            self.drawn = None
            self.show_diagram(network)
            return
        text = json.dumps(self.describe())
        if text != self.drawn:
            self.drawn = text
            drawing.build(text, self.callback, MAX_VALUE)
            self.show_inputs()
        self.show_activation()

    def show_activation(self):
        """Show in its menu which activation the hidden layers have, if they have the same."""
        menu = document.querySelector("[name=activation]")
        names = {column.activation for column in self.columns[:-1]}
        name = names.pop() if len(names) == 1 else ""
        menu.value = "identity" if name == "linear" else name
        if menu.selectedIndex < 0:
            menu.value = ""
        hidden_layers = [column for column in self.columns[:-1] if column.start is not None]
        menu.closest(".field").hidden = not hidden_layers

    def redraw(self):
        """Draw the network anew, without anything that was learnt."""
        self.drawn = None
        if self.columns and self.editor.network:
            self.show(self.editor.network)

    @property
    def has_values(self):
        """Whether the output is a number, rather than probabilities of classes."""
        return self.columns is not None and self.columns[-1].activation == "linear"

    def follows(self):
        """Return whether the drawing may change while a training goes on."""
        return drawing.follows()

    def unit_picture(self):
        """Return the name of the unit that is looked at, and its picture as JSON, or two "".

        The picture is that of network.js: a number from 0 to 1 for each cell of the plane.
        """
        if not self.looked or not self.drawn:
            return "", ""
        column, number = self.looked
        picture = drawing.picture(column, number)
        return (drawing.title(column, number), picture) if picture else ("", "")

    def show_diagram(self, network):
        """Draw the layers as boxes."""
        if self.diagram is None:
            self.diagram = ModelDiagram(self.editor)
            self.editor.on_network = self.show
            task = asyncio.ensure_future(self.diagram.begin(None))
            task.add_done_callback(lambda done: done.result())
        else:
            self.diagram.show(network)

    def describe(self):
        """Return the columns as network.js takes them, the inputs first."""
        inputs, classes = self.describe_ends()
        last = len(self.columns) - 1
        is_full = len(self.columns) == MAX_COLUMNS
        described = [
            {
                "name": "inputs",
                "about": f"{len(inputs)}",
                "units": inputs[:MAX_UNITS],
                "count": len(inputs),
                "range": "signed",
                "resizable": False,
                "removable": False,
                "insertable": False,
                "limit": "",
            }
        ]
        for number, column in enumerate(self.columns):
            is_last, is_written = number == last, column.start is not None
            names = [f"{unit + 1}" for unit in range(column.units)]
            if is_last and column.units <= len(classes):
                names = classes[-column.units :]
            is_share = is_last and column.activation in ("softmax", "sigmoid")
            described.append(
                {
                    "name": "the output" if is_last else f"layer {number + 1}",
                    "about": f"{column.units} {column.activation}",
                    "units": names[:MAX_UNITS],
                    "count": column.units,
                    "range": "classes" if is_share else "signed",
                    "resizable": is_written and not is_last,
                    "removable": is_written and not is_last,
                    "insertable": is_written,
                    "limit": f"At most {MAX_COLUMNS - 1} hidden layers are drawn"
                    if is_full
                    else "",
                }
            )
        return described

    def show_inputs(self):
        """Show the inputs over the plane."""
        rows = self.sample_inputs()
        if rows.shape[1] == len(self.describe_ends()[0]):
            drawing.showActivations(0, floats(rows))

    # What a model has learnt.

    async def look(self, model, cells):
        """Show the activations and weights of a model; `cells` are its inputs over the plane.

        A training has to lend its parameters meanwhile.
        """
        if self.columns is None or model.source != self.editor.text:
            return
        context = await self.open(model, cells)
        await context.run()
        activations = await context.outputs()
        names = [name for column in self.columns for name in (column.weights, column.bias) if name]
        tensors = model.state.parameters.tensors
        arrays = await model.backend.read(*(tensors[name] for name in names))
        values = dict(zip(names, arrays, strict=True))
        if self.context is not context:
            return  # another network is drawn by now
        for number, column in enumerate(self.columns):
            weights = values[column.weights]
            if column.is_transposed:
                weights = transpose(weights)
            bias = floats(values[column.bias]) if column.bias else None
            drawing.showWeights(number + 1, floats(weights), bias)
            drawing.showActivations(number + 1, floats(activations[f"{number}"]))
        drawing.drawWeights()

    async def write(self, model, column, source, unit, value):
        """Set the weight of a model from a unit to one of a column, or its bias if `source` is -1.

        A training has to lend its parameters meanwhile.
        """
        columns = self.columns or []
        part = columns[column] if column < len(columns) else None
        name = part and (part.bias if source < 0 else part.weights)
        parameters = model.state.parameters
        shape = parameters.types[name].shape if name else ()
        if not name or unit >= part.units or (source >= 0 and source >= shape[part.is_transposed]):
            raise UneditableError("the network has no weight that the link sets")
        (array,) = await model.backend.read(parameters.tensors[name])
        numbers = [*array.values()]
        if source < 0:
            numbers[unit] = value
        elif part.is_transposed:
            numbers[unit * shape[1] + source] = value
        else:
            numbers[source * part.units + unit] = value
        parameters.put(name, numbers)

    async def open(self, model, cells):
        """Return the context that computes the activations of a model at the cells of the plane."""
        from webnnm.runtime.inference.context import InferenceContext

        if self.model is not model:
            self.close()
            network = model.state.network
            self.context = InferenceContext(
                expose_columns(network, find_columns(network)),
                model.backend,
                model.state.parameters,
                model.state.standardizations,
                batch_size=cells.shape[0],
                sequence={},
                seed=0,
            )
            self.context.set_data(cells, raw=True)
            self.model = model
        return self.context

    def close(self):
        """Free what looking at a model takes."""
        if self.context:
            self.context.close()
        self.context = self.model = None

    # What somebody asks for.

    def act(self, text):
        """Edit the text as a button asks, or tell which unit is looked at."""
        does, *numbers = json.loads(text)
        if does == "look":
            self.looked = numbers
            self.on_look()
            return
        number = numbers[0] - 1
        if does == "weight":
            task = asyncio.ensure_future(self.on_weight(number, *numbers[1:]))
            task.add_done_callback(lambda done: done.result())
            return
        if does == "units":
            self.edit(set_units, number, self.columns[number].units + numbers[1])
        else:
            self.edit(insert_layer if does == "insert" else remove_layer, number)

    def edit(self, change, *arguments):
        """Have the text changed by a function of dense_layers.py, or show why that fails.

        Return whether it is changed.
        """
        try:
            edited = change(self.editor.text, *arguments)
        except UneditableError as error:
            show_error_text(sentence(str(error)))
        except ModelError as error:
            show_error(error)
        else:
            task = asyncio.ensure_future(self.on_edit(edited))
            task.add_done_callback(lambda done: done.result())
            return True
        return False


def floats(array):
    """Return the numbers of an array as network.js takes them."""
    return ffi.to_js(memoryview(getattr(array, "data", array)).cast("B").cast("f"))


def transpose(array):
    """Return a matrix with rows for columns."""
    from webnnm.core.arrays import HostArray

    rows = array.tolist()
    return HostArray.of([list(column) for column in zip(*rows, strict=True)], "float32")
