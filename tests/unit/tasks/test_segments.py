"""Segments follow from the numbers of queries, and models without masks for them are refused."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, backend
from webnnm.core.arrays import HostArray
from webnnm.tasks.maps import find_above, find_largest
from webnnm.tasks.segments import (
    Segment,
    SegmentThresholds,
    find_candidates,
    find_segments,
    join_maps,
)
from webnnm.transformers.architectures import write_model

pytestmark = pytest.mark.desktop
CLEAR, NONE = [9.0, -9.0, -9.0], [-9.0, -9.0, 9.0]
LEFT, RIGHT = [[9.0, 9.0, -9.0, -9.0]], [[-9.0, -9.0, 9.0, 9.0]]
USUAL = SegmentThresholds(0.9, 0.5, 0.5)
DETR = {
    "model_type": "detr",
    "architectures": ["DetrForSegmentation"],
    "image_size": 64,
    "backbone_config": {"model_type": "resnet"},
}


async def segment(
    logits: Any, maps: Any, thresholds: SegmentThresholds = USUAL
) -> list[tuple[int, Any]]:
    """Return the class and the mask of each segment of a picture as large as the maps."""
    arrays = HostArray.of(maps)
    size = arrays.shape[1], arrays.shape[2]
    segments = await find_segments(await backend("numpy"), logits, arrays, size, thresholds)
    assert all(isinstance(one, Segment) and 0.9 < one.score <= 1 for one in segments)
    return [(one.label, one.mask.tolist()) for one in segments]


async def test_each_object_has_its_pixels() -> None:
    other = [-9.0, 9.0, -9.0]
    assert await segment([CLEAR, other], [LEFT, RIGHT]) == [
        (0, [[255, 255, 0, 0]]),
        (1, [[0, 0, 255, 255]]),
    ]
    assert await segment([CLEAR, CLEAR], [LEFT, RIGHT]) == [
        (0, [[255, 255, 0, 0]]),
        (0, [[0, 0, 255, 255]]),
    ]


async def test_queries_without_an_object_leave_their_pixels_to_others() -> None:
    assert await segment([CLEAR, NONE], [LEFT, RIGHT]) == [(0, [[255, 255, 255, 255]])]
    assert await segment([NONE, NONE], [LEFT, RIGHT]) == []
    assert [one.query for one in find_candidates([NONE, CLEAR, [1.0, 0.0, 0.0]], 0.9)] == [1]


async def test_hidden_objects_are_left_out() -> None:
    hidden = [[[3.0, 3.0, 3.0, 3.0]], [[9.0, 9.0, 9.0, -9.0]]]
    assert [label for label, _ in await segment([CLEAR, CLEAR], hidden)] == [0]
    both = await segment([CLEAR, CLEAR], hidden, USUAL._replace(overlap=0.2))
    assert [mask for _, mask in both] == [[[0, 0, 0, 255]], [[255, 255, 255, 0]]]
    assert await segment([CLEAR], [[[-1.0, -2.0]]]) == []


async def test_numbers_that_are_not_finite_are_named() -> None:
    broken = [[float("nan"), 0.0, 0.0]]
    with pytest.raises(DataError, match=r"NNM707: the network gives classes .* not finite"):
        await segment(broken, [LEFT])
    with pytest.raises(DataError, match="NNM707"):
        await join_maps(await backend("numpy"), broken, HostArray.of([LEFT]))


async def test_scored_maps_are_compared_in_blocks() -> None:
    device = await backend("numpy")
    maps = HostArray.of([n * n % 17 - 8.0 for n in range(2 * 5 * 4)], shape=(2, 5, 4))
    scores = [0.9, 0.3]
    for find in (
        lambda block: find_largest(device, maps, (11, 7), scores=scores, block=block),
        lambda block: find_above(device, maps, (11, 7), 0.25, scores=scores, block=block),
    ):
        result = await find(1 << 20)
        assert len({*result.values()}) == 2
        assert (await find(2 * 7 * 3)).tolist() == result.tolist()
    assert not device.memory().graphs


MASKFORMER = {
    "model_type": "maskformer",
    "image_size": 64,
    "backbone_config": {"model_type": "swin"},
    "decoder_config": {"model_type": "detr"},
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fpn_feature_size", 48),
        ("image_size", [64, 50]),
        ("backbone_config", {"model_type": "convnext"}),
        ("backbone_config", {"model_type": "swin", "use_absolute_embeddings": True}),
        ("decoder_config", {"model_type": "deformable_detr"}),
        ("decoder_config", {"model_type": "detr", "position_embedding_type": "learned"}),
        ("pixel_decoder", "deformable"),
    ],
)
def test_maskformers_of_other_parts_are_refused(key: str, value: Any) -> None:
    assert "masks_queries_logits" in write_model(MASKFORMER).source
    with pytest.raises(DataError, match="NNM818"):
        write_model({**MASKFORMER, key: value})


def test_other_networks_with_queries_are_refused_by_name() -> None:
    for kind in ("mask2former", "oneformer"):
        with pytest.raises(DataError, match=f'NNM817: .*model_type "{kind}" is unknown'):
            write_model({"model_type": kind})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("d_model", 24),
        ("d_model", 8),
        ("encoder_attention_heads", 6),
        ("num_queries", 1 << 20),
        ("backbone_config", {"model_type": "resnet", "depths": [1], "hidden_sizes": [8]}),
    ],
)
def test_heads_of_other_sizes_are_refused(key: str, value: Any) -> None:
    assert "pred_masks" in write_model(DETR).source
    with pytest.raises(DataError, match="NNM818"):
        write_model({**DETR, key: value})
