"""The columns of a table: what each holds, and what it is used for."""

from page import element, make, table
from pyscript import when

MAX_CATEGORIES = 4
"""Words of a category that are shown."""
MAX_ROWS = 100
"""So many columns are listed at a time."""
USES = {
    "numbers": "input",
    "categories": "input, as categories",
    "target": "target",
    "out": "left out",
}
IMPOSSIBLE_USES = {"number": (), "date": ("categories", "target")}
"""The uses to which columns cannot be put, by what they hold; of words, that as categories."""


class Columns:
    """The columns in #columns, each with a field for its use; `on_change` is called with any."""

    def __init__(self, on_change):
        self.on_change = on_change
        self.described, self.uses, self.fields = [], {}, {}
        self.usual_uses = {}

    def show(self, table, described):
        """Show what was found in the columns of a table, and propose what to use each for."""
        from webnnm.data.tables.column_choice import choose_target, find_reason_to_leave_out

        self.described = described
        self.usual_uses = {
            column.name: "out" if find_reason_to_leave_out(column, table.row_count) else "numbers"
            for column in described
        }
        target = choose_target(described)
        self.uses = dict(self.usual_uses)
        if target is not None:
            self.uses[target.name] = "target"
        parts = []
        if len(described) > MAX_ROWS:
            search = make("input", type="search", id="column-filter", autocomplete="off")
            when("input", search)(self.filter)
            label = f"Of {len(described):,} columns, show those whose name contains"
            parts = [make("label", label, for_=search.id), search]
        self.listing = make("div")
        element("columns").replaceChildren(*parts, self.listing)
        self.list("")

    def filter(self, event):
        """Show the columns whose names contain what was typed."""
        self.list(event.target.value)

    def list(self, text):
        """Show the first columns whose names contain a text; the target is always one of them."""
        text = text.strip().lower()
        matching = [column for column in self.described if text in column.name.lower()]
        shown = matching[:MAX_ROWS]
        shown += [c for c in matching[MAX_ROWS:] if self.uses[c.name] == "target"]
        rows = [
            [
                column.name,
                "",
                column.content,
                describe_contents(column, self.usual_uses[column.name] != "out"),
                str(column.missing or ""),
            ]
            for column in shown
        ]
        header = ["Column", "Use", "Kind", "Holds", "Missing"]
        more = len(matching) - len(shown)
        grid = table(f"Columns, and {more:,} more" if more else "Columns", header, rows)
        grid.classList.add("listing")
        self.fields = {}
        for column, line in zip(shown, grid.querySelectorAll("tbody tr"), strict=True):
            field = make("select", aria_label=f"Use of {column.name}")
            field.append(*(make("option", USES[use], value=use) for use in uses_of(column)))
            field.value = self.uses[column.name]
            when("change", field)(self.make_listener(column))
            line.querySelector("td").replaceChildren(field)
            self.fields[column.name] = field
        self.listing.replaceChildren(grid)

    def make_listener(self, column):
        """Return what listens to the field of a column."""

        def listen(event):
            if event.target.value == "target":
                for other in self.described:
                    if other is not column and self.uses[other.name] == "target":
                        self.use(other, self.usual_uses[other.name])
            self.uses[column.name] = event.target.value
            self.on_change()

        return listen

    def use(self, column, use):
        """Put a column to another use."""
        self.uses[column.name] = use
        if column.name in self.fields:
            self.fields[column.name].value = use

    def select_by_use(self, *uses):
        """Return the names of the columns that have one of these uses."""
        return [name for name, use in self.uses.items() if use in uses]

    def numbers(self):
        """Return the names of the inputs that are taken as numbers."""
        chosen = {*self.select_by_use("numbers")}
        return [one.name for one in self.described if one.name in chosen and is_number(one)]


def is_number(column):
    """Return whether a column holds numbers."""
    return column.content == "number"


def uses_of(column):
    """Return the uses that a column can be put to."""
    if column.content == "empty":
        return ["out"]
    impossible = IMPOSSIBLE_USES.get(column.content, ("categories",))
    return [use for use in USES if use not in impossible]


def describe_contents(column, is_usable):
    """Return what a column holds, in a few words."""
    if column.problem:
        return column.problem
    if is_number(column):
        parts = [f"{column.low:g} … {column.high:g}", column.written, column.note]
        return "; ".join(filter(None, parts))
    if column.content == "date":
        return column.written
    categories = ", ".join(
        f"{category} ({times})" for category, times in column.values[:MAX_CATEGORIES]
    )
    if column.content == "text":
        usable = "the most frequent ones count" if is_usable else "which a model cannot use"
        return f"{len(column.values)} different texts, {usable}"
    more = len(column.values) - MAX_CATEGORIES
    return categories + (f" and {more} more" if more > 0 else "")
