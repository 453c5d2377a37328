"""A search trains many models for a few epochs, and the best of them for more."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.training.trained import classes
from webnnm import search
from webnnm.core.errors import DataError
from webnnm.model.searching import Search, Trial, draw_settings, plan_rounds

pytest.importorskip("numpy")

TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers "
TEXT += "matmul(w, shape=[$width]), relu(), matmul(v), add(b), softmax();"
SPACE: dict[str, Any] = {"width": (1, 30), "lr": [1e-6, 0.02], "optimizer": ["adam", "adamw"]}


async def run_search(**more: Any) -> Search:
    """Return a small search."""
    options: dict[str, Any] = {"trials": 9, "epochs": 18, "backend": "numpy", "progress": "off"}
    options |= {"log": lambda _: None, **more}
    return await search(TEXT, classes(60), SPACE, **options)


async def test_the_log_has_a_line_for_each_training_unless_progress_is_off() -> None:
    log: list[str] = []
    result = await run_search(log=log.append)
    assert log == []
    result = await run_search(log=log.append, progress=None)
    assert len([line for line in log if line.startswith("trial ")]) == 13
    assert len(result.trials) == 9 and not [line for line in log if line.startswith("epoch ")]


@pytest.mark.alike
async def test_the_best_trials_are_trained_longer() -> None:
    found = await run_search()
    assert found.rounds == [(9, 2), (3, 6), (1, 18)]
    assert sorted(len(trial.losses) for trial in found.trials) == [1] * 6 + [2] * 2 + [3]
    assert found.best.settings["lr"] == 0.02
    assert found.best.losses[-1] < min(t.losses[0] for t in found.trials)
    assert f"shape=[{found.best.settings['width']}]" in found.text and "$" not in found.text
    assert set(found.hyperparameters) == {"lr", "optimizer"}
    head, first, *_ = str(found).splitlines()
    assert head.split()[:4] == ["trial", "width", "lr", "optimizer"]
    assert first.split()[0] == str(found.best.number)
    assert found._repr_html_().count("<tr>") == 10


@pytest.mark.parametrize(
    "text", ["", '{"trials": [', "[]", '{"trials": [1]}', '{"source": 1, "trials": 5}']
)
async def test_a_damaged_file_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "search.json"
    path.write_text(text)
    with pytest.raises(DataError, match="NNM704") as caught:
        await run_search(path=path)
    assert "path" in caught.value.hint
    assert path.read_text() == text, "it is left as it is"


@pytest.mark.alike  # tests/browser/test_searching.py interrupts one in a page
async def test_an_interrupted_search_goes_on(tmp_path: Path) -> None:
    whole = await run_search()
    path, seen = tmp_path / "search.json", list[int]()

    class Interrupted(Exception):
        pass

    def interrupt(found: Search) -> None:
        seen.append(sum(len(trial.losses) for trial in found.trials))
        if len(seen) == 10:
            raise Interrupted

    with pytest.raises(Interrupted):
        await run_search(path=path, on_trial=interrupt)
    begun = json.loads(path.read_text())
    assert seen == list(range(1, 11))
    again = await run_search(path=path, on_trial=lambda found: seen.append(0))
    assert len(seen) == 13  # the other three of thirteen trainings
    assert again == whole
    assert await run_search(known=begun) == whole
    with pytest.raises(DataError, match="another text, space, seed or number of epochs"):
        await run_search(path=path, epochs=36)


async def test_a_training_that_diverges_is_the_last() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:loss MSE; m:layers matmul(w), mul(1);"
    space = {"lr": [0.001, 1e30]}
    found = await search(
        text,
        classes(60),
        space,
        trials=4,
        epochs=4,
        optimizer="sgdm",
        backend="numpy",
        progress="off",
        log=lambda _: None,
        gradient_clipping="off",
    )
    assert len(found.trials) == 2  # there are no others
    assert found.best.settings == {"lr": 0.001}
    assert found.to_dict()["trials"][found.ranked[1].number]["losses"] == [None]


WRONG = [
    ({"with": (1, 3)}, {}, "neither a hyperparameter nor \\$with in the text"),
    ({"lr": (1, 3)}, {}, "the text has \\$width, the space does not"),
    ({"width": [8], "lr": (1, 3)}, {"lr": 0.1}, "both fixed and searched"),
    ({"width": (8, 4)}, {}, '"width" has the choices'),
    ({"width": []}, {}, '"width" has the choices'),
    ({"width": [8]}, {"eta": 1}, "eta 1"),
]


@pytest.mark.parametrize(("space", "more", "words"), WRONG, ids=str)
async def test_what_cannot_be_searched_is_refused(
    space: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(DataError, match=f"NNM704: search: .*{words}"):
        await search(TEXT, classes(60), space, **more)


def test_numbers_are_drawn_between_their_bounds() -> None:
    space = {"a": (1, 3), "b": (1, 1000), "c": (0.0, 1.0), "d": (1e-5, 1.0), "e": ["x"]}
    every = [draw_settings(space, random.Random(seed)) for seed in range(300)]
    assert {each["a"] for each in every} == {1, 2, 3}
    assert all(1 <= each["b"] <= 1000 and 0 <= each["c"] <= 1 for each in every)
    # By their logarithm half lie below the root of the bounds.
    assert 100 < sum(each["d"] < 10**-2.5 for each in every) < 200
    assert isinstance(every[0]["b"], int) and every[0]["e"] == "x"


def test_rounds_end_with_all_epochs() -> None:
    assert plan_rounds(1, 3, 50) == [(1, 50)]
    assert plan_rounds(4, 2, 2) == [(4, 1), (2, 2)]
    assert Trial(0, {}, [0.5]).rank > Trial(1, {}, [0.9, 0.8]).rank
