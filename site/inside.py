"""What becomes of a model on its way to the device: layers, graph, calls of WebNN, runs."""

import time

from attempts import show_errors
from diagram import ModelDiagram
from model_editor import ModelEditor
from page import clear_error, element, make, ready, show_error, show_what_runs
from pyscript import when

from webnnm import NNModel, backend
from webnnm.page_modules import load_rest

BATCH = 16
"""The rows of a training step."""
SECONDS = 0.5
"""For which the graph is run to measure it, about."""
MAX_RUNS = 1000
AGE = "of the last model that worked"


class Tour:
    """The way of the model in the editor to the device; a later one ends an earlier one."""

    def __init__(self):
        self.device = self.latest = None
        self.drawn = self.measured = None

    async def open(self):
        """Open the device, say which it is, and follow the first model there."""
        await load_rest()
        self.device = await backend("auto")
        await show_what_runs()
        await self.show()

    async def show(self):
        """Show every stage of what is in the editor."""
        self.latest = this = object()
        now = self.request()
        training = element("kind").value == "train"
        self.show_age()
        try:
            async with await self.create() as model:
                graph = self.build(model, training)
                fitted = self.show_graph(graph)
                self.drawn = now
                figures = await self.measure(graph)
        except Exception as error:
            if self.latest is this:
                show_error(error)
                self.show_age()
            return
        if self.latest is this:
            self.show_figures(fitted, figures)
            self.measured = now
            self.show_age()

    def request(self):
        """Return the text and the kind of graph that are set now."""
        return editor.text, element("kind").value

    def show_age(self):
        """Dim the stages that do not show what is in the editor, and say so."""
        now = self.request()
        stale = {"layers": self.drawn and not editor.network}
        stale |= dict.fromkeys(("graph", "fitted", "calls"), self.drawn not in (None, now))
        stale["device"] = self.measured not in (None, now)
        for name, dimmed in stale.items():
            heading = element(f"stage-{name}")
            section = heading.parentElement
            if section.classList.contains("stale") != bool(dimmed):
                section.classList.toggle("stale", bool(dimmed))
                if dimmed:
                    heading.append(make("small", f" {AGE}"))
                else:
                    heading.lastElementChild.remove()

    async def create(self):
        """Return a model of the text."""
        return await NNModel.create(
            source=editor.text, backend=self.device, review=False, log=lambda line: None
        )

    def build(self, model, training):
        """Return the graph of a prediction for one row, or of a training step."""
        from webnnm.formats.exporting import model_graph

        kind, batch = ("train", BATCH) if training else ("inference", 1)
        return model_graph(model.state, kind, batch, None, False, {}).graphs[0]

    def show_graph(self, graph):
        """Show the graph, what is rewritten for the device, and the calls; return the calls."""
        from webnnm.compiler.calls import javascript
        from webnnm.compiler.plan import lower
        from webnnm.compiler.stages import graph_after
        from webnnm.model.graph_text import graph_text

        limits = self.device.limits if self.device.name == "webnn" else None
        fitted, rewrites = graph_after(graph, limits=limits)
        before, after = count_operators(graph), count_operators(fitted)
        show_text("graph", graph_text(graph, of_model=True))
        element("graph-about").textContent = (
            f"Layers become {before} operators on tensors. Each line is a tensor: its name, its "
            "type and shape, and the operator that computes it."
        )
        element("rewrites").replaceChildren(*(make("li", text) for text in rewrites))
        about = (
            "What the device lacks, or computes wrongly, is written in other operators:"
            if rewrites
            else "The device has every operator, and computes it right."
        )
        if self.device.name != "webnn":
            about = "Without WebNN, this is what a browser that has all of it would get. " + about
        if before != after and not rewrites:
            about += (
                " For speed, the compiler folds constants, fuses biases, and puts channels last "
                "where the device prefers that"
            )
            about += (
                f": {before} operators become {after}."
                if after < before
                else ", which can add reshapes and transposes."
            )
        element("fitted-about").textContent = about
        plan = lower(fitted)
        show_text("calls", javascript(plan))
        return plan

    async def measure(self, graph):
        """Build the graph, run it on tensors of zeros, and return what it took."""
        device = self.device
        executable = await device.compile(graph)
        tensors = []
        try:
            inputs = await device.tensors(executable.inputs)
            tensors += inputs.values()
            outputs = await device.tensors(executable.outputs)
            tensors += outputs.values()
            first = next(iter(outputs.values()))
            runs, seconds = 1, 0.0
            for _ in range(2):  # the first run tells how many are worth measuring
                began = time.perf_counter()
                for _ in range(runs):
                    device.dispatch(executable, inputs, outputs)
                await device.read(first)
                seconds = (time.perf_counter() - began) / runs
                # Clocks of browsers stand still for up to a tenth of a second.
                runs = max(1, min(MAX_RUNS, round(SECONDS / seconds))) if seconds else MAX_RUNS
            memory = sum(tensor.type.nbytes for tensor in tensors)
            return {"build": executable.build_seconds, "run": seconds, "bytes": memory}
        finally:
            device.release(*tensors, executable)

    def show_figures(self, plan, figures):
        """Show how large the graph is, and how fast it runs."""
        rows = {
            "Calls": f"{len(plan.content['operators'])} operators, "
            f"{len(plan.content['inputs'])} inputs, {len(plan.content['constants'])} constants",
            "Built in": f"{1e3 * figures['build']:.1f} ms",
            "A run takes": f"{1e3 * figures['run']:.3f} ms, the mean of many, one after the other",
            "Tensors": f"{figures['bytes'] / 1e3:,.1f} kB for inputs, weights and results",
        }
        nodes = [
            node for name, text in rows.items() for node in (make("dt", name), make("dd", text))
        ]
        element("figures").replaceChildren(*nodes)
        element("figures").dataset.done = ""


def show_text(name, text):
    """Show a text in an element that is empty until then."""
    element(name).textContent, element(name).hidden = text, False


def count_operators(graph):
    """Return how many operators a graph has."""
    from webnnm.graph.node import OperatorNode

    return sum(isinstance(node, OperatorNode) for node in graph.nodes())


async def follow():
    """Follow the model to the device."""
    clear_error()
    element("figures").removeAttribute("data-done")
    await tour.show()


@when("submit", "#form")
async def submit(event):
    """Follow the model anew."""
    await follow()


@when("change", "#kind")
async def change(event):
    """Follow another graph of the model."""
    await follow()


tour, editor = Tour(), ModelEditor()
diagram = ModelDiagram(editor)
editor.on_check = tour.show_age
ready()
await show_errors(tour.open())
