"""Configs of every architecture with hostile values: used, or refused by name."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import HOW, ODD, PATHS, loop, replace_item, told
from tests.fuzz.frame import Target
from tests.fuzz.watch import WATCH
from tests.unit.transformers.folders import CONFIG, pack, weights
from tests.unit.transformers.test_hostile_configs import KINDS, config_of
from tests.unit.transformers.test_hostile_configs import ODD as VALUES
from webnnm import WebNNMError, from_pretrained
from webnnm.transformers.architectures import write_model

FOLDER = "folder"
GENERATION: dict[str, Any] = {
    "eos_token_id": 2,
    "bos_token_id": 1,
    "pad_token_id": 0,
    "suppress_tokens": [3],
    "begin_suppress_tokens": [4],
    "bad_words_ids": [[5]],
    "max_length": 20,
}
KEYS = (
    *("head_dim", "hidden_size", "num_hidden_layers", "vocab_size", "rope_scaling", "layer_types"),
    *("rope_parameters", "architectures", "eos_token_id", "sliding_window", "max_window_layers"),
    *("id2label", "image_size", "d_model", "encoder_layers", "block_out_channels", "text_config"),
    *("vision_config", "hidden_act", "tie_word_embeddings", "pad_token_id", "bad_words_ids"),
)


async def use_model(folder: Path) -> str:
    """Load the model of a folder, and let it write."""
    try:
        model = await from_pretrained(folder, backend="numpy", log=lambda _: None)
    except WebNNMError as error:
        return told(error)
    try:
        await model.predict(input_ids=[[1, 2, 0]])
        await model.generate_ids([1, 2], max_new_tokens=2)
    except WebNNMError as error:
        return f"loaded, then {told(error)}"
    finally:
        model.close()
    return "used"


def edit(config: dict[str, Any], edits: list[Any]) -> Any:
    tree: Any = config
    for what, *edit in edits:
        if what == "key":
            key, value = edit
            tree = {**tree, key: value} if isinstance(tree, dict) else tree
        else:
            tree = replace_item(tree, *edit)
    return tree


def check(case: dict[str, Any]) -> str:
    kind = case["kind"]
    with tempfile.TemporaryDirectory() as name, WATCH.within(name):
        if kind == FOLDER:
            folder = Path(name)
            (folder / "model.safetensors").write_bytes(pack(weights()))
            files = {"config.json": dict(CONFIG), "generation_config.json": dict(GENERATION)}
            files[case["file"]] = edit(files[case["file"]], case["edits"])
            for file, tree in files.items():
                (folder / file).write_text(json.dumps(tree))
            return f"{kind} {loop().run_until_complete(use_model(folder))}"
        config = edit(config_of(kind), case["edits"])
        if not isinstance(config, dict):
            return "no object"
        try:
            write_model(config)
        except WebNNMError as error:
            return f"written {told(error)}"
        return "written"


ANY = st.one_of(ODD, st.sampled_from(VALUES))
TARGET = Target(
    name="hostile configs",
    cases=st.fixed_dictionaries(
        {
            "kind": st.one_of(st.just(FOLDER), st.sampled_from(KINDS)),
            "file": st.sampled_from(["config.json", "generation_config.json"]),
            "edits": st.lists(
                st.one_of(
                    st.tuples(st.just("key"), st.sampled_from(KEYS), ANY).map(list),
                    st.tuples(st.just("path"), PATHS, HOW, ANY).map(list),
                ),
                min_size=1,
                max_size=3,
            ),
        }
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=40,
)
