"""No key of a GGUF file that changes numbers is ignored: it is applied, or refused by its name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.test_gguf_models import METADATA, SIZE, load, write
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.formats import gguf
from webnnm.transformers.gguf_model import HARMLESS

np = pytest.importorskip("numpy")

KNOWN = """
, , , , , , , , , , , , , , , , , , , , ,
"""
"""The keys about an architecture that llama.cpp knows (gguf-py/gguf/constants.py)."""
YARN = {
    "llama.rope.scaling.type": "yarn",
    "llama.rope.scaling.factor": 4.0,
    "llama.rope.scaling.original_context_length": 50,
}
WORDS: dict[str, Any] = {
    "tensor_data_layout": "other",
    "attention.causal": False,
    "use_parallel_residual": True,
    "swin_norm": True,
}
IDS = [[5, 8, 2, 40, 7, 9, 11, 3]]


async def scores(path: Path, **settings: Any) -> Any:
    model = await webnnm.from_pretrained(path, backend="numpy", log=lambda _: None, **settings)
    found = (await model.predict(input_ids=IDS))["logits"]
    model.close()
    return np.asarray(found)


@pytest.mark.desktop
@pytest.mark.parametrize("key", KNOWN.split())
async def test_no_key_is_ignored(tmp_path: Path, key: str) -> None:
    base = dict(YARN) if "yarn" in key or "attn_factor" in key or "original" in key else {}
    before = await scores(write(tmp_path, **base))
    values: list[Any] = [3, 0.01, 500]
    if key in WORDS:
        values = [WORDS[key]]
    outcomes: list[bool] = []
    for value in values:
        try:
            after = await scores(write(tmp_path, **{**base, f"llama.{key}": value}))
        except DataError as error:
            assert key in str(error) or "original_max_position" in str(error)
            outcomes.append(True)
        else:
            outcomes.append(np.abs(after - before).max() > 0)
    assert any(outcomes) == (key not in HARMLESS), key


async def test_keys_that_are_refused_can_be_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, **{"llama.final_logit_softcapping": 30.0})
    with pytest.raises(DataError, match=r"NNM818: .*final_logit_softcapping is 30") as caught:
        await scores(path)
    key = "llama.final_logit_softcapping"
    assert 'ignore=["final_logit_softcapping"]' in caught.value.hint
    assert (await scores(path, ignore=["final_logit_softcapping"])).shape[0] == 1
    assert (await scores(path, ignore=[key])).shape[0] == 1


async def test_the_scale_of_attention_is_applied(tmp_path: Path) -> None:
    """Twice the usual scale is that of queries with twice the weights."""
    scaled = await scores(write(tmp_path, **{"llama.attention.scale": 2 / math.sqrt(SIZE)}))
    file = gguf.read((write(tmp_path)).read_bytes())
    tensors: dict[str, Any] = {}
    for name, tensor in file.tensors.items():
        factor = 2.0 if "attn_q" in name else 1.0
        values = np.asarray(tensor.array()) * np.float32(factor)
        tensors[name] = ("F32", tensor.shape, values.astype("<f4").tobytes())
    (tmp_path / "twice.gguf").write_bytes(b"".join(gguf.chunks(METADATA, tensors)))
    assert np.abs(scaled - await scores(tmp_path / "twice.gguf")).max() < 1e-5


async def test_factors_of_angles_are_applied(tmp_path: Path) -> None:
    """Files of Llama 3.1 have the factors that their config describes by four numbers."""
    base, low, high, trained, factor = 10000.0, 1.0, 4.0, 100, 8.0
    factors: list[float] = []
    for pair in range(SIZE // 2):
        length = 2 * math.pi * base ** (2 * pair / SIZE)
        share = (trained / length - low) / (high - low)
        smooth = 1 / ((1 - share) / factor + share)
        short, long = trained / high, trained / low
        factors.append(1.0 if length < short else factor if length > long else smooth)
    file = gguf.read(write(tmp_path).read_bytes())
    tensors: dict[str, Any] = {
        name: ("F32", tensor.shape, bytes(HostArray.of(tensor.array(), "float32").data))
        for name, tensor in file.tensors.items()
    }
    plain = await scores(tmp_path / "tiny.gguf")
    tensors["rope_freqs.weight"] = ("F32", (SIZE // 2,), np.float32(factors).tobytes())
    path = tmp_path / "factors.gguf"
    path.write_bytes(b"".join(gguf.chunks(METADATA, tensors)))
    model = await load(path)
    assert "rope=[" in model.source
    rates = [base ** (-2 * pair / SIZE) / by for pair, by in enumerate(factors)]
    written = model.source.partition("rope=[")[2].partition("]")[0]
    assert [float(rate) for rate in written.split(",")] == pytest.approx(rates, rel=1e-6)
    model.close()
    assert np.abs(await scores(path) - plain).max() > 1e-3


async def test_linear_scaling_has_an_old_name_and_no_type(tmp_path: Path) -> None:
    typed = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    expected = await scores(write(tmp_path, **typed))
    for more in ({"llama.rope.scale_linear": 4.0}, {"llama.rope.scaling.factor": 4.0}):
        assert (await scores(write(tmp_path, **more)) == expected).all()
    off = {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0}
    assert (await scores(write(tmp_path, **off)) == await scores(write(tmp_path))).all()


async def test_parts_of_a_model_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"NNM818: the file is one of 3 parts") as caught:
        await scores(write(tmp_path, **{"split.count": 3}))
    assert "llama-gguf-split --merge" in caught.value.hint
