"""Configs of adapters with hostile values: an adapter is added, or refused by name."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import HOW, ODD, PATHS, loop, replace_item, told
from tests.fuzz.frame import Target
from tests.fuzz.watch import WATCH
from tests.unit.transformers.folders import write
from webnnm import PretrainedModel, WebNNMError, from_pretrained
from webnnm.formats.peft import CONFIG, WEIGHTS


@cache
def model() -> PretrainedModel:
    """Return the model that adapters are added to."""
    with tempfile.TemporaryDirectory() as name:
        opened = from_pretrained(write(Path(name)), backend="numpy", log=lambda _: None)
        return loop().run_until_complete(opened)


@cache
def adapter() -> tuple[bytes, dict[str, Any]]:
    """Return an adapter as `peft` writes it: its tensors and its config."""

    whole = model()

    async def save() -> tuple[bytes, dict[str, Any]]:
        await whole.add_lora(rank=2)
        with tempfile.TemporaryDirectory() as name:
            await whole.save_lora(name)
            await whole.remove_lora()
            config = json.loads(Path(name, CONFIG).read_text())
            config["base_model_name_or_path"] = "../../etc"
            return Path(name, WEIGHTS).read_bytes(), config

    return loop().run_until_complete(save())


async def add(folder: str) -> str:
    try:
        await model().load_lora(folder)
    except WebNNMError as error:
        return told(error)
    await model().remove_lora()
    return "added"


def check(case: dict[str, Any]) -> str:
    data, tree = adapter()
    for edit in case["edits"]:
        tree = replace_item(tree, *edit)
    with tempfile.TemporaryDirectory() as name, WATCH.within(name):
        Path(name, WEIGHTS).write_bytes(data)
        Path(name, CONFIG).write_text(json.dumps(tree))
        return loop().run_until_complete(add(name))


TARGET = Target(
    name="hostile adapters",
    cases=st.fixed_dictionaries(
        {"edits": st.lists(st.tuples(PATHS, HOW, ODD).map(list), min_size=1, max_size=3)}
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=40,
)
