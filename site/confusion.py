"""What a test took for what: a table whose cells lead to the rows that were wrong."""

import charting
from page import element, make, percent, table
from pyscript import when
from result_card import shorten_all

MAX_CLASSES = 12
"""Of more classes the most frequent confusions are listed: a matrix has no place on a page."""
ROOM, SHORTEST = 40, 4
"""Letters of all columns of a matrix on a card, and of a column at least."""
LISTED = 12
"""Confusions that are listed."""


class Confusion:
    """The table of a confusion matrix, and what was wrong in #mistakes.

    `find` is awaited with the numbers of the actual and of the predicted class, and returns rows of
    the test, each with its numbers and the probability of each class, or None; `picture` makes an
    element of the numbers of one row.
    """

    def __init__(self, rows, kind, find, picture):
        self.name, self.kind, self.find, self.picture = rows, kind, find, picture
        self.labels, self.chart = [], None

    def show(self, labels, counts):
        """Return the table of a matrix: actual classes in rows, predicted ones in columns."""
        self.labels, self.counts = labels, counts
        element("mistakes").replaceChildren()
        if self.has_many():
            return self.list_confusions()
        rows = [[label, *row] for label, row in zip(labels, counts, strict=True)]
        caption = f"Confusion matrix: {self.kind} in rows, what they were taken for in columns"
        matrix = table(caption, [self.kind.capitalize(), *labels], rows)
        shade(matrix, counts)
        if self.offer(matrix):
            matrix.caption.append(". Click a mistake to see it.")
        return matrix

    def has_many(self):
        """Return whether there are too many classes for a matrix."""
        return len(self.labels) > MAX_CLASSES

    def list_confusions(self):
        """Return a table of the most frequent confusions."""
        size = range(len(self.labels))
        wrong = [(i, j) for i in size for j in size if i != j and self.counts[i][j]]
        wrong.sort(key=lambda pair: -self.counts[pair[0]][pair[1]])
        shown = wrong[:LISTED]
        caption = f"The most frequent of {len(wrong)} confusions" if wrong else "No confusions"
        rows = [[self.labels[i], self.labels[j], str(self.counts[i][j])] for i, j in shown]
        node = table(caption, [self.kind.capitalize(), "Taken for", "Rows"], rows)
        for pair, cell in zip(shown, node.querySelectorAll("td:last-child"), strict=True):
            self.make_button(cell, *pair)
        return node

    async def draw(self):
        """Draw the matrix as a heat map, for the card of a result: the page has the table."""
        from webnnm import charts

        if self.chart:
            self.chart.close()
            self.chart = None
        if not self.has_many():
            labels = shorten_all(self.labels, max(SHORTEST, ROOM // (len(self.labels) + 1)))
            chart = charts.confusion_matrix(self.counts, labels)
            self.chart = await charting.show(make("div"), chart)

    def offer(self, matrix):
        """Make buttons of the cells that count what was wrong; return whether there are any."""
        wrong = False
        for i, line in enumerate(matrix.querySelectorAll("tbody tr")):
            for j, cell in enumerate(line.querySelectorAll("td")):
                if i != j and self.counts[i][j]:
                    self.make_button(cell, i, j)
                    wrong = True
        return wrong

    def make_button(self, cell, actual, predicted):
        """Make a button of a cell of a table, which shows the rows that it counts."""
        count = self.counts[actual][predicted]
        words = f"{count} {self.labels[actual]} taken for {self.labels[predicted]}: show"
        button = make("button", cell.textContent, type="button", aria_label=words)
        button.classList.add("place")
        when("click", button)(self.make_lead(actual, predicted))
        cell.replaceChildren(button)

    def make_lead(self, actual, predicted):
        """Return what shows the rows of a cell."""

        async def lead(event):
            await self.lead(actual, predicted)

        return lead

    async def lead(self, actual, predicted):
        """Show rows of one class that were taken for another."""
        rows = await self.find(actual, predicted)
        if rows is None:
            return
        count = self.counts[actual][predicted]
        confusion = f"{self.labels[actual]} taken for {self.labels[predicted]}"
        more = f", the first {len(rows)}" if len(rows) < count else ""
        box = make("div", class_="mistakes")
        for row in rows:
            figure = make("figure")
            shares = sorted(zip(row["shares"], self.labels, strict=True), key=lambda pair: -pair[0])
            words = ", ".join(f"{label} {percent(share)}" for share, label in shares[:2])
            figure.append(self.picture(row["row"]), make("figcaption", words))
            box.append(figure)
        title = make("h3", f"{self.name.capitalize()}: {confusion}, {count}{more}", tabindex="-1")
        element("mistakes").replaceChildren(title, box)
        title.focus()


def shade(matrix, counts):
    """Colour the cells of a confusion matrix by their share of the row."""
    cells = matrix.querySelectorAll("td")
    shares = [number / max(sum(row), 1) for row in counts for number in row]
    for cell, share in zip(cells, shares, strict=True):
        cell.style.setProperty("--share", f"{share:.2f}")
    matrix.classList.add("confusion")
