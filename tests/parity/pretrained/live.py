"""Models of Hugging Face beside `transformers`, live: part of `make parity`."""

from __future__ import annotations

import asyncio

import transformers

from tests.parity.pretrained import fixtures, generated
from tests.parity.pretrained.families import CASES, FAMILIES
from tests.parity.pretrained.in_timm import is_installed, is_timm
from tests.parity.pretrained.in_transformers import compute, generate_texts
from tests.parity.pretrained.outcome import LIMIT, difference, outputs


def report(seed: int) -> bool:
    """Print how far every model is from `transformers`; tell whether all are near enough."""
    print(f"\nModels of Hugging Face, transformers {transformers.__version__}, limit {LIMIT:g}")
    wrong, cases = 0, [case for case in CASES if is_installed() or not is_timm(case)]
    if len(cases) < len(CASES):
        print(f"timm is not installed: {len(CASES) - len(cases)} models are not compared")
    for case in cases:
        wanted = compute(case, seed)
        found = difference(outputs(wanted, seed), wanted)
        wrong += found > LIMIT
        print(f"{case!s:22}  {found:.1e}{'  <- above' if found > LIMIT else ''}")
    print(f"{len(cases) - wrong} of {len(cases)} models agree with transformers.")
    return _texts_agree(seed) and not wrong


def _texts_agree(seed: int) -> bool:
    """Print which models write other tokens; tell whether none does."""
    wrong = 0
    for case in generated.CASES:
        fixture, wanted = generate_texts(case, seed)
        model = generated.load(fixture, seed)
        rows = generated.draw_rows(fixture.config["vocab_size"], seed)
        for name, settings in generated.select_settings(fixture.config).items():
            found = asyncio.run(model.generate_ids(rows, **settings))
            different = sum(one != other for one, other in zip(found, wanted[name], strict=True))
            wrong += different
            mark = f"  <- {different} of {len(rows)} differ" if different else ""
            print(f"{case.name + ' ' + name:22}  {sum(map(len, found)):4} tokens{mark}")
        model.close()
    print("Texts agree with transformers." if not wrong else f"{wrong} texts differ.")
    return not wrong


def record(family: str) -> None:
    """Write the fixtures of a family anew."""
    cases = FAMILIES[family]
    size = fixtures.write(family, {str(case): compute(case, fixtures.SEED) for case in cases})
    print(f"pretrained/families/{family}.npz: {len(cases)} models, {size / 1000:.0f} kB")


def record_texts() -> None:
    """Write anew which texts models generate."""
    generated.write({case.name: generate_texts(case, fixtures.SEED) for case in generated.CASES})
