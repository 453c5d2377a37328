"""Files of tokenizers with hostile values: used, or refused by name."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import HOW, ODD, PATHS, loop, replace_item, told
from tests.fuzz.frame import Target
from tests.fuzz.watch import WATCH
from tests.unit.transformers.tokenizer_json import TEXT
from webnnm import WebNNMError
from webnnm.transformers.json_tokenizer import json_tokenizer
from webnnm.transformers.pretrained import tokenizer_of

FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
SETTINGS: dict[str, Any] = {
    "chat_template": [{"name": "default", "template": "{{ bos_token }}"}],
    "bos_token": {"content": "<s>"},
    "eos_token": "</s>",
    "added_tokens_decoder": {"0": {"content": "<s>"}},
}


async def use_model(files: dict[str, bytes]) -> str:
    try:
        text, template = await tokenizer_of(files)
        tokenizer = await json_tokenizer(text, [1], template)
        tokens = tokenizer.encode("the cat<|im_end|> é")
        tokenizer.decode([*tokens, 0, 10**6])
        _ = tokenizer.added
        for name in template.named:
            template.choose(name)
    except WebNNMError as error:
        return told(error)
    return "used"


def check(case: dict[str, Any]) -> str:
    trees: dict[str, Any] = dict.fromkeys(FILES, SETTINGS) | {FILES[0]: json.loads(TEXT)}
    for name, *edit in case["edits"]:
        trees[name] = replace_item(trees[name], *edit)
    files = {name: json.dumps(tree).encode() for name, tree in trees.items()}
    with WATCH.within("/nowhere"):
        return loop().run_until_complete(use_model(files))


TARGET = Target(
    name="hostile tokenizers",
    cases=st.fixed_dictionaries(
        {
            "edits": st.lists(
                st.tuples(st.sampled_from(FILES), PATHS, HOW, ODD).map(list),
                min_size=1,
                max_size=3,
            )
        }
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=40,
)
