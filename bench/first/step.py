"""The first training step as a page of webnnm takes it."""

from __future__ import annotations

from typing import Any

from webnnm import Dataset, NNModel
from webnnm.core.arrays import HostArray

SOURCE = """
model:loss categoricalCrossEntropy;
model:input shape=[784]; model:output shape=[10];
model:layers dense(shape=[256], activation=relu), dense(shape=[128], activation=relu),
  dense(shape=[10], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""


async def train(x: Any, y: Any, until: str, note: Any) -> None:
    """Tell the loss of the first step of 64 rows, or of the first epoch, and train no further."""

    def stop(record: Any) -> bool:
        note(record.loss)
        return False

    rows = HostArray("float32", (6400, 784), x.to_py())
    classes = HostArray("float32", (6400, 10), y.to_py())
    dataset = Dataset(rows, classes)
    model = await NNModel.create(source=SOURCE, dataset=dataset, backend="webnn")
    after = {"on_batch": stop} if until == "step" else {"on_epoch": stop}
    await model.train(batch_size=64, epochs=2, **after)
