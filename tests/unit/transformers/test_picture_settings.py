"""Files of processors: what is not known is refused by name, old forms are understood."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError
from webnnm.transformers.processors.picture_settings import read_picture_settings
from webnnm.transformers.processors.picture_sizes import find_cut


def read(name: str = "ViTImageProcessor", **values: Any) -> Any:
    return read_picture_settings({"image_processor_type": name, **values})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"image_processor_type": "VitImageProcessor"}, '"VitImageProcessor", which is unknown'),
        ({"image_processor_type": 3}, '"image_processor_type" is 3'),
        ({}, 'no "image_processor_type"'),
    ],
)
def test_unknown_classes_are_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"NNM818.*{message}"):
        read_picture_settings(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"do_edge_detection": True}, '"do_edge_detection" is true, which is not supported'),
        ({"crop_pct": 0.9}, '"crop_pct" is 0.9, which is not supported'),
        ({"size": {"height": 3}}, '"size" is'),
        ({"size": {"height": 0, "width": 3}}, '"size" is'),
        ({"size": [1, 2, 3]}, '"size" is'),
        ({"size": "large"}, '"size" is'),
        ({"resample": 6}, '"resample" is 6'),
        ({"image_mean": [0.5, 0.5]}, '"image_mean" is'),
        ({"image_std": 0}, '"image_std" is 0'),
        ({"do_resize": 1}, '"do_resize" is 1'),
        ({"crop_size": {"height": 3}}, '"crop_size" is'),
        ({"rescale_factor": "1"}, '"rescale_factor" is "1"'),
    ],
)
def test_what_changes_numbers_and_is_not_known_is_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"NNM818: preprocessor_config.json: {message}"):
        read(**values)


def test_convnext_has_one_side() -> None:
    with pytest.raises(DataError, match=r'NNM818.*"size"'):
        read("ConvNextImageProcessor", size={"height": 30, "width": 30})


def test_keys_for_training_are_ignored() -> None:
    values = {"do_reduce_labels": True, "_commit_hash": "x", "do_edge_detection": None}
    assert read(**values) == read()


def test_old_files_have_numbers() -> None:
    name = "DetrFeatureExtractor"
    old = read_picture_settings({"feature_extractor_type": name, "size": 800, "max_size": 1000})
    assert old.size == {"shortest_edge": 800, "longest_edge": 1000}
    assert read("CLIPFeatureExtractor", size=30).size == {"shortest_edge": 30}
    assert read("ViTFeatureExtractor", size=30, image_std=2).deviation == (2, 2, 2)


def test_numbers_of_vanishing_sides_are_found() -> None:
    settings = read("SamImageProcessor", size={"longest_edge": 10})
    assert find_cut((1, 100), settings).resized == (0, 10)
