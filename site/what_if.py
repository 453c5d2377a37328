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
        self.fields, self.usual, self.gaps = {}, {}, {}
        self.asking = self.stale = False

    def open(self, model, described, target):
        """Make a field for each column that a model takes; `target` is the column it predicts."""
        from webnnm.model import serving

        self.model, self.target = model, target
        (signature,) = json.loads(serving.signature(model)).values()
        bounds = {column.name: (column.low, column.high) for column in described}
        self.fields, self.usual, self.gaps, boxes = {}, {}, {}, []
        for number, column in enumerate(signature["columns"]):
            name, optional = column["name"], "optional" in column
            if "categories" in column:
                field = make("select", id=f"what-if-{number}")
                words = [*column["categories"], *([column["other"]] if "other" in column else [])]
                gap = [make("option", "missing", value="")] if optional else []
                field.append(*gap, *(make("option", word) for word in words))
                label = make("label", name, for_=field.id)
                self.usual[name] = "" if optional else words[0]
            elif "dates" in column or "text" in column:
                field = make("input", type=column.get("dates", "text"), id=f"what-if-{number}")
                label = make("label", name, for_=field.id)
                field.required = not optional
                self.usual[name] = "" if optional else column.get("usual", "")
            else:
                field, label = slider(number, name, *bounds[name])
                self.usual[name] = column["usual"]
            boxes.append(make("div", class_="field"))
            boxes[-1].append(label, field)
            self.fields[name] = field
            if optional and field.type == "range":
                self.gaps[name] = make("input", type="checkbox")
                gap = make("label", class_="check")
                gap.append(self.gaps[name], f"{name} missing")
                boxes[-1].append(gap)
        element("what-if").replaceChildren(*boxes)
        for name, field in self.fields.items():
            when("input", field)(self.make_listener(name))
        for gap in self.gaps.values():
            when("input", gap)(self.on_move)

    def make_listener(self, name):
        """Return what a field does when it moves: its cell is no longer missing."""

        async def on_input(event):
            if name in self.gaps:
                self.gaps[name].checked = False
            await self.on_move(event)

        return on_input

    async def on_move(self, event):
        """Say what the model predicts now."""
        element("actual").textContent = ""
        await self.show()

    async def take(self, row, actual):
        """Move the fields to the cells of a row, and say what it really is."""
        from webnnm.model import serving

        for name, field in self.fields.items():
            cell = row.get(name)
            cell = "" if cell is None else str(cell)  # workbooks have dates, yes or no
            if field.type.startswith("date"):
                cell = serving.show_date(self.model, name, cell)
            is_empty = not cell.strip()
            field.value = self.usual[name] if is_empty else cell
            if name in self.gaps:
                self.gaps[name].checked = is_empty
            if field.tagName == "SELECT" and field.selectedIndex < 0:  # a word that is no category
                field.append(make("option", cell))
                field.value = cell
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

        if not all(field.checkValidity() for field in self.fields.values()):
            return  # somebody is typing a date
        row = {}
        for name, field in self.fields.items():
            is_slider = field.type == "range"
            row[name] = float(field.value) if is_slider else field.value
            if name in self.gaps and self.gaps[name].checked:
                row[name] = None
            if is_slider:
                shown = "missing" if row[name] is None else f"{row[name]:.4g}"
                field.previousElementSibling.lastChild.textContent = shown
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
