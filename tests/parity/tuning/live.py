"""Losses, gradients and adapters beside `transformers` and `peft`, live: part of `make parity`."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peft
import torch
import transformers

from tests.parity.pretrained import generated
from tests.parity.pretrained.families import CASES
from tests.parity.pretrained.fixtures import SEED, Fixture
from tests.parity.tuning import cases
from tests.parity.tuning.cases import ADAPTED, CAUSAL, LIMIT, PAIRED, PAIRS, ROWS, Learnt
from webnnm.formats.peft import CONFIG, WEIGHTS

KINDS = {str(case): case.architecture for case in [*CASES, *generated.CASES]}


async def theirs(name: str, fixture: Fixture, folder: str) -> Learnt:
    """Return the loss and the gradients of `transformers`, by the parameters of this package."""
    async with await cases.open_model(fixture, folder) as model:
        before = cases.arrays(model)
    network: Any = getattr(transformers, KINDS[name]).from_pretrained(folder).eval()
    sources, targets = zip(*PAIRS, strict=True) if name in PAIRED else (ROWS, ROWS)
    ids = pad(sources, network.config.pad_token_id or 0)
    mask, labels = pad([[1] * len(row) for row in sources], 0), pad(targets, -100)
    loss = network(input_ids=ids, attention_mask=mask, labels=labels).loss
    loss.backward()
    torch.optim.SGD(network.parameters(), lr=1.0).step()
    with tempfile.TemporaryDirectory() as moved:
        network.save_pretrained(moved)
        async with await cases.webnnm.from_pretrained(
            moved, backend="numpy", log=lambda line: None
        ) as model:
            return Learnt(loss.item(), cases.lengths(before, cases.arrays(model)))


def pad(rows: Sequence[Sequence[int]], padding: int) -> Any:
    """Return rows as a tensor, padded at the end."""
    longest = max(map(len, rows))
    return torch.tensor([[*row] + [padding] * (longest - len(row)) for row in rows])


def logits(network: Any, fixture: Fixture) -> Any:
    """Return the logits of a network of PyTorch for the inputs of a fixture."""
    given = {name: torch.from_numpy(array) for name, array in fixture.inputs.items()}
    with torch.no_grad():
        return network.eval()(**given).logits.numpy()


async def ours_in_peft(name: str, fixture: Fixture, folder: str) -> float:
    """Return how far logits are apart where `peft` loads an adapter of this package."""
    async with await cases.open_model(fixture, folder) as model:
        await cases.draw_adapter(model, ADAPTED[name][0])
        found = (await model.predict(**fixture.inputs))["logits"]
        adapter = await model.save_lora(Path(folder, "adapter"))
    network = getattr(transformers, KINDS[name]).from_pretrained(folder)
    adapted = peft.PeftModel.from_pretrained(network, str(adapter))
    return cases.scores_apart(found, logits(adapted, fixture), cases.target_mask(fixture))


def of_peft(name: str, fixture: Fixture, folder: str) -> dict[str, Any]:
    """Return an adapter that `peft` makes, with ranks that differ, and its logits."""
    network = getattr(transformers, KINDS[name]).from_pretrained(folder)
    targets = ADAPTED[name][1]
    settings = peft.LoraConfig(
        r=2,
        lora_alpha=3,
        target_modules=list(targets),
        rank_pattern={targets[0]: 1},
        fan_in_fan_out=name.startswith("gpt2"),
    )
    torch.manual_seed(SEED)
    adapted: Any = peft.get_peft_model(network, settings)
    for parameter, value in adapted.named_parameters():
        if "lora_B" in parameter:
            value.data = torch.randn_like(value) * 0.1
    adapter = Path(folder, "theirs")
    adapted.save_pretrained(str(adapter))
    return {
        "config": json.loads((adapter / CONFIG).read_text()),
        "file": base64.b64encode((adapter / WEIGHTS).read_bytes()).decode(),
        "last": logits(adapted, fixture)[0, -1].tolist(),
    }


async def compute(name: str, fixture: Fixture) -> tuple[Learnt | None, dict[str, Any] | None]:
    """Return what Hugging Face's packages give of a case."""
    with tempfile.TemporaryDirectory() as folder:
        learns = name in CAUSAL + PAIRED
        learnt = await theirs(name, fixture, folder) if learns else None
    with tempfile.TemporaryDirectory() as folder:
        (await cases.open_model(fixture, folder)).close()
        return learnt, of_peft(name, fixture, folder) if name in ADAPTED else None


def report() -> bool:
    """Print how far everything is from Hugging Face's packages; tell whether it is near enough."""
    print(f"\nLosses, gradients and adapters, peft {peft.__version__}, limit {LIMIT:g}")
    known, worst = cases.models(), 0.0
    for name in CAUSAL + PAIRED:
        with tempfile.TemporaryDirectory() as folder:
            ours = asyncio.run(cases.learnt(known[name], folder))
            wanted = asyncio.run(theirs(name, known[name], folder))
        worst = max(worst, ours.apart(wanted))
        print(f"{name:22}  {ours.apart(wanted):.1e}  loss and gradients of a step")
    for name in ADAPTED:
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(ours_in_peft(name, known[name], folder))
        worst = max(worst, found)
        print(f"{name:22}  {found:.1e}  adapter in peft")
    return bool(worst <= LIMIT) and np.isfinite(worst)


def record() -> None:
    """Write the fixtures anew."""
    known = cases.models()
    names = dict.fromkeys([*CAUSAL, *PAIRED, *ADAPTED])
    found = {name: asyncio.run(compute(name, known[name])) for name in names}
    told = {
        "learnt": {name: [*learnt] for name, (learnt, _) in found.items() if learnt},
        "adapters": {name: adapter for name, (_, adapter) in found.items() if adapter},
    }
    cases.FILE.write_text(json.dumps(told) + "\n")
    print(f"tuning/{cases.FILE.name}: {cases.FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    record()
