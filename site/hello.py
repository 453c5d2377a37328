"""Runs a model on numbers that the reader gives."""

from model_editor import ModelEditor
from page import clear_error, element, ready, sentence, show_error, show_what_runs, table
from pyscript import when

from webnnm import NNModel
from webnnm.page_modules import load_rest

latest = None  # the run that was asked for last


async def run():
    """Create the model, run it on the numbers, show the result and how it came about.

    A run during which another one began shows nothing.
    """
    global latest
    latest = this = object()
    element("result").removeAttribute("data-done")
    await load_rest()  # it reviews models
    if this is not latest:
        return
    try:
        numbers = [float(part) for part in element("numbers").value.replace(",", " ").split()]
        async with await NNModel.create(source=editor.text) as model:
            context = await model.create_context()
            data = context.set_data([int(x) if x.is_integer() else x for x in numbers])
            await model.run(context)
            output = await context.output()
            if this is latest:
                show(model, data.tolist()[0], output.tolist()[0])
    except Exception as error:
        if this is latest:
            show_error(error)


def show(model, inputs, outputs):
    """Show numbers in and out, the backend, and the steps of the graph."""
    rows = [["input", *map(number, inputs)], ["output", *map(number, outputs)]]
    header = ["Position", *(f"{k}" for k in range(1, len(inputs) + 1))]
    element("answer").replaceChildren(table("What goes in and what comes out", header, rows))
    backend = model.backend.description
    element("backend").textContent = sentence(f"ran on {backend}")
    from webnnm import graph_text  # a module of the second wheel

    element("graph").textContent = graph_text(model)
    result = element("result")
    result.hidden = False
    result.dataset.backend = backend
    result.dataset.output = ", ".join(map(number, outputs))
    result.dataset.done = ""


def number(value):
    """Return a number without needless digits."""
    return f"{value:g}"


@when("submit", "#form")
async def submit(event):
    """Run again."""
    clear_error()
    await run()


editor = ModelEditor()
ready()
await run()
await show_what_runs()
