"""Says what the inputs of a Hugging Face model are in an exported page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webnnm.core.errors import DataError, WebNNMError
from webnnm.formats.page.preprocessing import RowKind
from webnnm.formats.page.tokenizers import Texts
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.inputs import DEFAULTS
from webnnm.transformers.json_tokenizer import JsonTokenizer
from webnnm.transformers.tokenizer import Tokenizer

TOKENS = "input_ids"


def describe_page_rows(
    names: Sequence[str],
    rules: InputRules,
    read_tokenizer: Callable[[], Tokenizer],
    log: Callable[[str], object],
) -> dict[str, RowKind]:
    """Return input → how a page makes its numbers of a text; those that can be left out are filled.

    Without a tokenizer of `tokenizer.json` the page takes tokens. Raises `DataError` NNM905 for
    models that begin their answer with a shifted text.
    """
    if rules.shift_right:
        raise DataError(
            "NNM905",
            "the model answers texts token by token, which pages without Python do not",
            hint="serve it in a page with Python",
        )
    if TOKENS not in names:
        return {}
    rows: dict[str, RowKind] = {name: DEFAULTS[name] for name in names if name in DEFAULTS}
    try:
        tokenizer = read_tokenizer()
    except WebNNMError as error:
        log(f"the page takes tokens instead of texts: {error}")
        return rows
    if isinstance(tokenizer, JsonTokenizer) and tokenizer.text:
        rows[TOKENS] = Texts(tokenizer.text)
    return rows
