"""What a model says of a row whose values are moved: a slider or a list for each column."""

import json

import page
from page import element, make, show_shares
from pyscript import when

from webnnm import WebNNMError


class WhatIf:
    """The fields in #what-if, and what the model says of them in #answer and #shares."""

    def __init__(self):
        self.model = None
        self.fields, self.usual = {}, {}
        self.asking = self.stale = False

    def open(self, model, described, target):
        """Make a field for each column that a model takes; `target` is the column it predicts."""
        from webnnm.model import serving

        self.model, self.target = model, target
        (signature,) = json.loads(serving.signature(model)).values()
        bounds = {column.name: (column.low, column.high) for column in described}
        self.fields, self.usual, boxes = {}, {}, []
        for number, column in enumerate(signature["columns"]):
            name = column["name"]
            if "categories" in column:
                field = make("select", id=f"what-if-{number}")
                field.append(*(make("option", category) for category in column["categories"]))
                label = make("label", name, for_=field.id)
                self.usual[name] = column["categories"][0]
            elif "dates" in column:
                field = make("input", type=column["dates"], id=f"what-if-{number}")
                label = make("label", name, for_=field.id)
                self.usual[name] = column["usual"]
            else:
                field, label = slider(number, name, *bounds[name])
                self.usual[name] = column["usual"]
            boxes.append(make("div", class_="field"))
            boxes[-1].append(label, field)
            self.fields[name] = field
        element("what-if").replaceChildren(*boxes)
        for field in self.fields.values():
            when("input", field)(self.on_move)

    async def on_move(self, event):
        """Say what the model predicts now."""
        element("actual").textContent = ""
        await self.show()

    async def take(self, row, actual):
        """Move the fields to the cells of a row, and say what it really is."""
        from webnnm.model import serving

        for name, field in self.fields.items():
            cell = row.get(name)
            if field.type.startswith("date"):
                cell = serving.show_date(self.model, name, cell)
            field.value = self.usual[name] if cell in (None, "") else cell
        element("actual").textContent = f"The row of the table has {actual}."
        await self.show()

    async def show(self):
        """Ask the model about the row; while it answers, later rows wait, but for the last one."""
        self.stale = True
        if self.asking:
            return
        self.asking = True
        try:
            while self.stale:
                self.stale = False
                await self.ask()
        except WebNNMError as error:
            page.show_error(error)
        finally:
            self.asking = False

    async def ask(self):
        """Ask the model about the row that the fields hold, and show what it says."""
        from webnnm.model import serving

        if not all(field.value for field in self.fields.values()):
            return  # somebody is typing a date
        row = {}
        for name, field in self.fields.items():
            is_slider = field.type == "range"
            row[name] = float(field.value) if is_slider else field.value
            if is_slider:
                field.previousElementSibling.lastChild.textContent = f"{row[name]:.4g}"
        (said,) = json.loads(await serving.answer(self.model, row)).values()
        if "values" in said:
            element("answer").textContent = f"{said['values'][0]:.5g}"
            return
        labels = map(str, said["labels"])
        shares = dict(zip(labels, said["probabilities"], strict=True))
        element("answer").textContent = show_shares(shares)


def slider(number, name, low, high):
    """Return a slider from one number to another, and its label, which shows where it stands."""
    field = make("input", type="range", id=f"what-if-{number}", min=low, max=high, step="any")
    label = make("label", f"{name} ", for_=field.id, class_="moved")
    label.append(make("output", for_=field.id))
    return field, label
