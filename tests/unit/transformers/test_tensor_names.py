"""Names of tensors in published files and of modules are both known; hints can be followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, pack, weights, write
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.snapshots.safetensors import StoredTensor
from webnnm.transformers.tensor_names import publish_names, stack_experts

VIT: dict[str, Any] = {
    "model_type": "vit",
    "architectures": ["ViTForImageClassification"],
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 4,
    "patch_size": 2,
    "num_labels": 3,
}
LAYER = {
    "attention.q_proj": (4, 4),
    "attention.k_proj": (4, 4),
    "attention.v_proj": (4, 4),
    "attention.o_proj": (4, 4),
    "mlp.fc1": (6, 4),
    "mlp.fc2": (4, 6),
    "layernorm_before": (4,),
    "layernorm_after": (4,),
}
"""The modules of a layer in transformers 5."""
PUBLISHED = {
    "attention.q_proj": "attention.attention.query",
    "attention.k_proj": "attention.attention.key",
    "attention.v_proj": "attention.attention.value",
    "attention.o_proj": "attention.output.dense",
    "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense",
}


def vit(*, modules: bool, lead: str = "vit.") -> dict[str, HostArray]:
    shapes: dict[str, tuple[int, ...]] = {
        f"{lead}embeddings.cls_token": (1, 1, 4),
        f"{lead}embeddings.position_embeddings": (1, 5, 4),
        f"{lead}embeddings.patch_embeddings.projection.weight": (4, 3, 2, 2),
        f"{lead}embeddings.patch_embeddings.projection.bias": (4,),
        f"{lead}layernorm.weight": (4,),
        f"{lead}layernorm.bias": (4,),
        "classifier.weight": (3, 4),
        "classifier.bias": (3,),
    }
    for layer in range(2):
        for name, shape in LAYER.items():
            place = f"{lead}layers.{layer}.{name}"
            if not modules:
                place = f"{lead}encoder.layer.{layer}.{PUBLISHED.get(name, name)}"
            shapes |= {f"{place}.weight": shape, f"{place}.bias": shape[:1]}
    return {
        name: HostArray.of([(7 * n + 3 * len(shape)) % 11 / 11 for n in range(count(shape))],
                           "float32", shape)
        for name, shape in shapes.items()
    }  # fmt: skip


async def scores(folder: Path, tensors: dict[str, HostArray]) -> Any:
    write(folder, VIT, {"model.safetensors": pack(tensors)})
    model = await webnnm.from_pretrained(folder, backend="numpy", log=lambda _: None)
    picture = [[[[0.1 * (y + x) for x in range(4)] for y in range(4)] for _ in range(3)]]
    found = (await model.predict(pixel_values=picture))["logits"].tolist()
    model.close()
    return found


async def test_names_of_modules_are_those_of_files(tmp_path: Path) -> None:
    expected = await scores(tmp_path, vit(modules=False))
    assert await scores(tmp_path, vit(modules=True)) == expected
    for wrapper in ("module.", "_orig_mod."):
        wrapped = {wrapper + name: tensor for name, tensor in vit(modules=True).items()}
        assert await scores(tmp_path, wrapped) == expected


def test_first_names_of_norms_are_known() -> None:
    old = {"bert.embeddings.LayerNorm.gamma": 1, "bert.embeddings.LayerNorm.beta": 2}
    assert publish_names(old) == {
        "bert.embeddings.LayerNorm.weight": 1,
        "bert.embeddings.LayerNorm.bias": 2,
    }
    both = {**old, "bert.embeddings.LayerNorm.weight": 3}
    assert publish_names(both)["bert.embeddings.LayerNorm.gamma"] == 1


async def test_hints_name_arguments_that_there_are(tmp_path: Path) -> None:
    for tensors in (
        {**weights(), "model.more.weight": HostArray.of([0.0])},
        {name: tensor for name, tensor in weights().items() if "q_proj" not in name},
        {name.replace("q_proj", "query"): tensor for name, tensor in weights().items()},
    ):
        write(tmp_path, CONFIG, {"model.safetensors": pack(tensors)})
        with pytest.raises(DataError, match="NNM805") as caught:
            await webnnm.from_pretrained(tmp_path, backend="numpy", log=lambda _: None)
        assert "strict" not in caught.value.hint and "mapping=" not in caught.value.hint
        assert "architecture=" in caught.value.hint


def test_tensors_of_experts_are_one() -> None:
    tensors = {
        f"layers.0.experts.{n}.w1.weight": StoredTensor(
            "F32", (2,), HostArray.of([n, n + 0.5], "float32").data.cast("B")
        )
        for n in (2, 0, 1)
    }
    (stacked,) = stack_experts(tensors).items()
    assert stacked[0] == "layers.0.experts.w1.weight"
    assert stacked[1].array().tolist() == [[0, 0.5], [1, 1.5], [2, 2.5]]


@pytest.mark.parametrize(
    ("numbers", "shapes", "code", "says"),
    [((0, 2), (2, 2), "NNM805", "expert 1 is missing"), ((0, 1), (2, 3), "NNM806", "differ")],
)
def test_experts_have_to_be_complete_and_alike(
    numbers: tuple[int, int], shapes: tuple[int, int], code: str, says: str
) -> None:
    tensors = {
        f"experts.{n}.w1.weight": StoredTensor("F32", (size,), memoryview(bytes(4 * size)))
        for n, size in zip(numbers, shapes, strict=True)
    }
    with pytest.raises(DataError, match=says) as caught:
        stack_experts(tensors)
    assert caught.value.code == code
