"""Feature hashing gives words the features that scikit-learn's FeatureHasher gives them."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, NNModel, TableDataset
from webnnm.data.tables.encoding import OneHotEncoder, from_dict, to_dict
from webnnm.data.tables.hashing import hash_bytes, hash_word

ALL: dict[str, Any] = {"split": (1, 0, 0)}
WORDS = [f"N{number * 37 % 1000}" for number in range(40)]
TABLE: dict[str, Any] = {"plane": WORDS, "late": [0, 1] * 20}


@pytest.mark.parametrize(
    ("word", "bucket", "sign"),
    # FeatureHasher(16, input_type="string").transform([[word]]) of scikit-learn 1.9.1
    [("N14228", 4, 1), ("Köln", 11, 1), ("K", 6, -1), ("東京 🙂", 2, 1), ("abcde", 10, -1)],
)
def test_words_have_the_features_of_scikit_learn(word: str, bucket: int, sign: int) -> None:
    assert hash_word(word, 16) == (bucket, sign)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0), (b"\0", 0x514E28B7), (b"hello, world", 0x149BBB7F), (b"\xff" * 4, 0x76293B50)],
)
def test_hashes_are_those_of_murmurhash3(data: bytes, expected: int) -> None:
    assert hash_bytes(data) == expected


def test_words_of_a_column_of_more_words_share_features() -> None:
    data = TableDataset(TABLE, hash_buckets=8, **ALL)
    assert data.inputs["model"].features == tuple(f"plane hash {n}" for n in range(8))
    rows = data.encode([["never seen"], [WORDS[0]], ["never seen"]]).tolist()
    assert rows[0] == rows[2] != rows[1]
    for row, word in zip(rows, ["never seen", WORDS[0]], strict=False):
        bucket, sign = hash_word(word, 8)
        assert row == [sign if n == bucket else 0 for n in range(8)]


def test_the_most_frequent_words_keep_their_own_features() -> None:
    table = {"w": ["a"] * 9 + ["b"] * 8 + WORDS[:3], "y": [0, 1] * 10}
    data = TableDataset(table, max_categories=2, hash_buckets=2, **ALL)
    assert data.inputs["model"].features == ("w=a", "w=b", "w hash 0", "w hash 1")
    assert data.encode([["b"]]).tolist() == [[0, 1, 0, 0]]
    rare = data.encode([[WORDS[0]]]).tolist()[0]
    assert rare[:2] == [0, 0] and sorted(map(abs, rare[2:])) == [0, 1]


@pytest.mark.parametrize("options", [{}, {"max_categories": 8}])
def test_a_column_of_few_words_is_not_hashed(options: dict[str, Any]) -> None:
    table = {"w": ["a", "b"] * 4, "y": [0, 1] * 4}
    data = TableDataset(table, hash_buckets=2, **options, **ALL)
    assert data.inputs["model"].features == ("w=a", "w=b")


def test_single_columns_are_hashed() -> None:
    data = TableDataset({"from": WORDS, **TABLE}, hash_buckets={"from": 4}, **ALL)
    features = data.inputs["model"].features
    assert features[:5] == ("from hash 0", "from hash 1", "from hash 2", "from hash 3", "plane=N0")
    assert "from: categories, hashed into 4 features" in str(data.report)


def test_columns_of_numbers_are_hashed_if_they_are_named() -> None:
    table = {"zip": [*range(80001, 80041)], **TABLE}
    data = TableDataset(table, ["zip"], "late", hash_buckets={"zip": 4}, **ALL)
    assert data.inputs["model"].features == tuple(f"zip hash {n}" for n in range(4))
    bucket, sign = hash_word("80001", 4)
    assert data.encode([[80001]]).tolist() == [[sign if n == bucket else 0 for n in range(4)]]
    assert TableDataset(table, ["zip"], "late", hash_buckets=4, **ALL).encoders[0].features == (
        "zip",
    )


def test_words_beyond_the_most_frequent_ones_are_hashed_into_more_features() -> None:
    data = TableDataset(TABLE, max_categories=30, hash_buckets=64, **ALL)
    features = data.inputs["model"].features
    assert len(features) == 30 + 64 and features[-1] == "plane hash 63"


def test_missing_words_are_the_means_of_the_training_rows() -> None:
    table = {"w": ["", *WORDS[:3]], "y": [0, 1, 0, 1]}
    data = TableDataset(table, missing="indicator", hash_buckets=2, **ALL)
    rows = data.encode([[word] for word in ["", *WORDS[:3]]]).tolist()
    assert rows[0][2] == 1
    for n in range(2):
        assert rows[0][n] == pytest.approx(sum(row[n] for row in rows[1:]) / 3)


@pytest.mark.parametrize(
    ("buckets", "words"),
    [
        (1, "hash_buckets of plane is 1"),
        (True, "hash_buckets of plane is True"),
        ({"plane": 2.5}, "hash_buckets of plane is 2.5"),
        ({"plane": 1025}, "hash_buckets of plane is 1025"),
        ({"late": 4}, 'column "late" is no feature'),
    ],
)
def test_impossible_numbers_of_buckets_are_refused(buckets: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        TableDataset(TABLE, hash_buckets=buckets, **ALL)
    assert caught.value.code == "NNM704"


def test_unknown_columns_have_no_buckets() -> None:
    with pytest.raises(DataError, match='no column "plain"') as caught:
        TableDataset(TABLE, hash_buckets={"plain": 4}, **ALL)
    assert caught.value.code == "NNM710"


async def test_a_snapshot_hashes_words_as_the_model_does() -> None:
    data = TableDataset(TABLE, hash_buckets=4, max_categories=3, **ALL)
    assert [from_dict(to_dict(encoder)) for encoder in data.encoders] == [*data.encoders]
    text = "m:input shape=[7]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    async with await NNModel.create(source=text, dataset=data, log=lambda line: None) as model:
        expected = (await model.predict([[WORDS[0]], ["Köln"]])).tolist()
        saved = await model.save()
    async with await NNModel.load(saved, log=lambda line: None) as loaded:
        actual = (await loaded.predict([[WORDS[0]], ["Köln"]])).tolist()
    assert actual == [pytest.approx(row, rel=1e-5) for row in expected]


def test_snapshots_of_columns_with_one_feature_for_others_are_still_read() -> None:
    record = {"name": "w", "categories": ["a"], "unknown": "zeros", "fill": [], "others": True}
    assert from_dict(record) == OneHotEncoder("w", ("a",), others=1)
