"""Ensembles: several trainings of a model from different seeds, averaged into one model.

Source: B. Lakshminarayanan et al., "Simple and Scalable Predictive Uncertainty Estimation using
Deep Ensembles", arXiv:1612.01474 (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.editing.ensemble_text import read_ensemble, write_ensemble
from webnnm.editing.parts import create_like
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network
from webnnm.model.cross_validating import read_copy_settings
from webnnm.model.keywords import read_hyperparameters
from webnnm.runtime.inference.context import InferenceContext
from webnnm.runtime.inference.prediction import Predictor
from webnnm.snapshots.snapshot import set_parameters

if TYPE_CHECKING:
    from webnnm.evaluation.history import History
    from webnnm.model.keywords import Hyperparameters
    from webnnm.model.nnmodel import NNModel


@dataclass(frozen=True)
class MemberPredictions:
    """What each member of an ensemble predicts for some rows.

    Attributes: `members`, a list of results as `NNModel.predict` returns them.
    """

    members: list[Any]

    @property
    def spread(self) -> Any:
        """The standard deviation over the members, of probabilities or of numbers in data units.

        An array of the shape of one member's prediction. Where members disagree, the training rows
        do not decide. Raises `DataError` NNM704 for rows of different lengths and for forecasts.
        """
        if not all(hasattr(member, "shape") for member in self.members):
            raise DataError(
                "NNM704",
                "the predictions are no arrays, so they have no spread",
                hint="compare the entries of members",
            )
        arrays = [HostArray.of(member, "float32") for member in self.members]
        columns = zip(*(array.values() for array in arrays), strict=True)
        values = [_deviation(numbers) for numbers in columns]
        return HostArray("float32", arrays[0].shape, HostArray.of(values, "float32").data).public()


def _deviation(numbers: tuple[float, ...]) -> float:
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1))


@require_await
async def train_ensemble(
    model: NNModel,
    members: int = 5,
    hyperparameters: Mapping[str, Any] | None = None,
    *,
    on_member: Callable[[History], object] | None = None,
    **more: Unpack[Hyperparameters],
) -> NNModel:
    """Train a model several times from different seeds; return one model that averages them.

    >>> import asyncio
    >>> from webnnm import IrisDataset, NNModel
    >>> text = '''m:input shape=[4]; m:output shape=[3];
    ...     m:layers matmul(w, shape=[8]), tanh(), matmul(w), softmax();'''
    >>> async def main():
    ...     iris = await IrisDataset.create(standardize=True)
    ...     model = await NNModel.create(source=text, dataset=iris, log=lambda line: None)
    ...     ensemble = await train_ensemble(model, members=3, epochs=20)
    ...     rows = [[5.1, 3.5, 1.4, 0.2]]
    ...     answer = await ensemble.predict(rows)
    ...     return answer.classes, (await predict_members(ensemble, rows)).spread.shape
    >>> asyncio.run(main())
    (['setosa'], (1, 3))

    The members see the same rows, but differ in initial parameters and in the order of the rows,
    with the seeds `seed`, `seed` + 1, …; what their errors have in common remains, the rest cancels
    out. The result is an ordinary model with a text of its own, which can be tested, saved and
    exported; it takes `members` times as long to train and to run. Logits are averaged where the
    model ends in softmax or sigmoid, else outputs. `model` does not change.

    - `members`: how many, from 2.
    - `hyperparameters`: those of `train`.
    - `on_member`: a function that is called with the `History` of each member when it is trained.

    Raises `DataError` NNM704 for fewer than two members, models whose parameters were trained or
    loaded, and texts with layers in several blocks or an output activation within a called block;
    NNM714 without a dataset; and what `train` raises.
    """
    settings = read_hyperparameters(
        hyperparameters, more, "train_ensemble", "train_ensemble(model, members=5, epochs=20)"
    )
    state = model.state
    if not is_integer(members) or members < 2:
        raise DataError("NNM704", f"members is {members!r}", hint="an integer from 2, such as 5")
    if state.trained:
        raise DataError(
            "NNM704",
            "the model has trained or loaded parameters, but members start at random",
            hint="pass a new model: NNModel.create(source=…, dataset=…)",
        )
    dataset = state.binding().dataset
    text = write_ensemble(state.network, members)
    network = elaborate(text.document)
    values: dict[str, HostArray] = {}
    with state.occupancy.by("the training of an ensemble"):
        for number in range(1, members + 1):
            seed = state.seed + number - 1
            config = {**read_copy_settings(state), "seed": seed, "dataset": dataset}
            async with await type(model).create(config) as member:
                if number == 1:  # findings are nearly the same for all
                    member.state.log = state.log
                history = await member.train({"progress": "off", **settings.explicit_values()})
                names = text.parameters_of(number, network, member.state.network)
                own = member.state.parameters.values()
                values |= {name: own[other] for name, other in names.items()}
            state.log(f"member {number} of {members}: {history}")
            if on_member is not None:
                on_member(history)
    ensemble = await create_like(text.document, model, {"batch_size": state.batch_size})
    try:
        set_parameters(ensemble.state, values, "the members")
        ensemble.set_dataset(dataset)
        ensemble.state.trained = True
    except BaseException:
        ensemble.close()
        raise
    return ensemble


@require_await
async def predict_members(
    ensemble: NNModel, data: Any, batch_size: int | None = None
) -> MemberPredictions:
    """Return what each member of an ensemble predicts, whose spread shows how sure they are.

    `data` and `batch_size` are as in `NNModel.predict`. For an example see `train_ensemble`, for a
    use `docs/training.md`.

    Raises `DataError` NNM704 for models that `train_ensemble` did not make, and what `predict`
    raises.
    """
    state = ensemble.state
    text = read_ensemble(state.network)
    if text is None:
        raise DataError(
            "NNM704", "the model is not an ensemble", hint="await train_ensemble(model) makes one"
        )
    results: list[Any] = []
    for number in range(1, text.count + 1):
        network = elaborate(text.of_member(number))
        contexts: list[InferenceContext] = []

        async def open_context(
            size: int, network: Network = network, contexts: list[InferenceContext] = contexts
        ) -> InferenceContext:
            context = InferenceContext(
                network,
                state.backend,
                state.parameters,
                state.standardizations,
                batch_size=size,
                sequence=state.sequence,
                seed=state.seed,
            )
            contexts.append(context)
            return context

        try:
            predictor = Predictor(network, open_context, state.data_facts)
            results.append(await predictor.predict(data, batch_size or state.batch_size))
        finally:
            for context in contexts:
                context.close()
    return MemberPredictions(results)
