"""Does what a first visit to the site's pages does, and prints the modules that it imported.

    python -m tools.first_visit

NumPy runs the models.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tools.common import ROOT

HELLO = """
model:input int32 shape=[5]; model:output float32 shape=[5];
model:layers add(1, dataType=float16), pow(2);
"""


async def visit() -> None:
    """Train the model of the Iris page in every way, predict, and run that of the hello page."""
    sys.path.insert(0, str(ROOT / "site"))
    import trainer  # pyrefly: ignore[missing-import]

    import webnnm
    from webnnm.training.optimizers import OPTIMIZERS

    request: dict[str, Any] = {"source": (ROOT / "site" / "iris.nnm").read_text(), "seed": 0}
    for number, optimizer in enumerate(OPTIMIZERS):
        request |= {"standardize": True, "validate": number % 2 == 1}
        request |= {"hyperparameters": {"epochs": 2, "optimizer": optimizer}}
        answer = json.loads(await trainer.train(json.dumps(request)))
        assert "accuracy" in answer, answer
    await trainer.classify(json.dumps({"row": [5.1, 3.5, 1.4, 0.2]}))
    await webnnm.probe(trials=False)
    async with await webnnm.NNModel.create(source=HELLO, log=lambda _: None) as model:
        context = await model.create_context()
        context.set_data([1, 2, 3, 4, 5])
        await model.run(context)
        await context.output()
        webnnm.graph_text(model)


def main() -> None:
    """Print the files of the modules, relative to the checkout, as JSON."""
    # Pages have NumPy, and not this wheel.
    sys.modules["onnxruntime"] = None  # pyrefly: ignore[unsupported-operation]
    asyncio.run(visit())
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    package = str(ROOT / "webnnm")
    own = [file for file in files if file and file.startswith(package)]
    print(json.dumps(sorted(file.removeprefix(f"{ROOT}/") for file in own)))


if __name__ == "__main__":
    main()
