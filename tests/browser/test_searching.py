"""A search in a page: its table grows with every training, and it goes on after a reload."""

from __future__ import annotations

from tests.browser.harness import PyodidePage

PROGRAM = """
from js import document
from webnnm import IrisDataset, search
from webnnm.snapshots import storage

place = document.createElement("div")
document.body.append(place)
text = '''m:input shape=[4]; m:output shape=[3];
m:layers matmul(w, shape=[$width]), add(b), relu(), matmul(v), add(c), softmax();'''
space = {"width": [2, 4, 6, 8], "lr": (1e-3, 1e-1)}
data = await IrisDataset.create(standardize=True)
seen = []

class Left(Exception):
    pass

def note(found):
    rows = [row for row in place.querySelectorAll("tbody tr")]
    first = [cell.textContent for cell in rows[0].children]
    cells = [cell.textContent for row in rows for cell in row.children]
    known = sum(len(trial.losses) for trial in found.trials)
    seen.append([len(rows), known, first[0] == str(found.best.number), "nan" in cells])
    if known == stop:
        raise Left()

async def run():
    return await search(
        text, data, space, trials=4, eta=2, epochs=8, path="browser:search", table=place,
        on_trial=note, progress="off", log=lambda text: None,
    )

try:
    found = await run()
    await storage.discard("browser:search")
    answer = [seen, found.best.number, place.querySelectorAll("tbody tr").length, place.textContent]
except Left:
    answer = [seen, None, 0, place.textContent]
place.remove()
answer
"""


async def test_a_search_shows_its_trials_and_goes_on(pyodide_page: PyodidePage) -> None:
    whole, best, rows, text = await pyodide_page.run_python(PROGRAM, stop=99)
    assert [known for _, known, _, _ in whole] == list(range(1, 8))
    assert all(count == 4 and first for count, _, first, _ in whole)
    assert rows == 4 and "width" in text and "8 epochs" in text
    begun, none, _, part = await pyodide_page.run_python(PROGRAM, stop=3)
    assert none is None and len(begun) == 3 and "lr" in part
    rest, again, _, text_again = await pyodide_page.run_python(PROGRAM, stop=99)
    assert [known for _, known, _, _ in rest] == [4, 5, 6, 7], "what was trained is not again"
    assert again == best
    assert text_again == text
