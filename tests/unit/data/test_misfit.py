"""Labels and values that do not fit: what they are and what to do is said."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel, TableDataset, review

TEXT = "m:input shape=[2]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
TOKENS = (
    "m:input int32 shape=[] sequence=true; m:output shape=[2]; "
    "m:layers embedding(words, size=5, shape=[3]), reduceMean(axes=[sequence]), matmul(w), "
    "softmax();"
)
ROWS = [[float(n), float(n % 4)] for n in range(12)]
NUMBERS = [n % 3 for n in range(12)]


def catch_error(labels: Any, text: str = TEXT, **options: Any) -> DataError:
    """Return the error that a review of these labels ends in."""
    with pytest.raises(DataError) as caught:
        review(text, Dataset(ROWS, labels, **options))
    return caught.value


@pytest.mark.parametrize(
    ("labels", "message", "hint"),
    [
        ([n + 1 for n in NUMBERS], "are numbered from 1 to 3, classes from 0 to 2", "subtract 1"),
        (
            [float(n) for n in NUMBERS],
            "integers 0 … 2, as float32",
            'set kinds={"model": "classes"}, or give integers',
        ),
        ([n - 1 for n in NUMBERS], "are integers -1 … 1, classes are numbered", "add 1 to the"),
        ([n - 1.0 for n in NUMBERS], "are integers -1 … 1, classes are numbered", "add 1 to the"),
        ([2 * (n // 2) for n in NUMBERS], "integers 0 … 2, not all of 0 … 2", "kinds="),
        ([2 * (n % 2) - 1 for n in NUMBERS], "labels are −1 and 1", "make them 0 and 1"),
        ([n + 0.5 for n in NUMBERS], "the model takes [3], rows are []", "write shape=[1]"),
        ([n + 3 for n in NUMBERS], "labels go up to 5, the model has 3", "write shape=[6]"),
        ([[1, 0], [0, 1]] * 6, "one-hot rows have 2 classes, the model has 3", "write shape=[2]"),
    ],
)
def test_labels_are_told_apart(labels: Any, message: str, hint: str) -> None:
    error = catch_error(labels)
    assert message in error.message
    assert hint in error.hint


@pytest.mark.parametrize("column", [[0.0, 1.0], [[0.0], [1.0]]])
def test_yes_and_no_are_not_two_classes_by_themselves(column: Any) -> None:
    two = TEXT.replace("[3]", "[2]")
    error = catch_error(column * 6, two)
    assert "0 and 1 as float32, which means yes and no, not 2 classes" in error.message
    assert "shape=[1]" in error.hint
    assert review(two, Dataset(ROWS, column * 6, kinds={"model": "classes"}))


def test_a_column_of_whole_numbers_has_classes_however_many_there_are() -> None:
    for classes in (2, 3):
        column = [[n % classes] for n in range(12)]
        assert review(TEXT.replace("[3]", f"[{classes}]"), Dataset(ROWS, column))
    yes = TEXT.replace("[3]", "[1]").replace("softmax", "sigmoid")
    assert review(yes, Dataset(ROWS, [[n % 2] for n in range(12)]))


def test_one_score_for_the_classes_of_a_table_is_a_question_of_the_task() -> None:
    table = {"a": [n / 2 for n in range(12)], "stars": [n % 3 for n in range(12)]}
    text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    with pytest.raises(DataError, match="3 classes, the model has one score") as caught:
        review(text, TableDataset(table, label="stars"))
    assert caught.value.hint.endswith(
        'write shape=[3] at the output; for the quantities of a table, task="regression"'
    )
    review(text, TableDataset(table, label="stars", task="regression"))


def test_a_kind_for_another_block_is_told_the_name_of_the_array() -> None:
    with pytest.raises(DataError, match='no block "m"') as caught:
        Dataset(ROWS, NUMBERS, kinds={"m": "continuous"})
    assert caught.value.hint == 'arrays without a name have the name "model"'


def test_more_classes_than_scores_are_a_finding_with_a_hint() -> None:
    labels = [n + 1 for n in NUMBERS]
    found = review(TEXT, Dataset(ROWS, labels, kinds={"model": "classes"})).findings
    (one,) = [finding for finding in found if finding.id == "E103"]
    assert "labels are numbered from 1 to 3" in one.message
    assert one.remedy.lower().startswith("subtract 1")


def test_words_are_told() -> None:
    with pytest.raises(DataError) as caught:
        Dataset(["ash", "oak"] * 6, NUMBERS)
    assert caught.value.message == 'input "model" has words, "ash", "oak"'
    assert "TableDataset" in caught.value.hint
    with pytest.raises(DataError, match=r'output "model" has words, "1\.5"'):
        Dataset(ROWS, ["1.5", "2.5"] * 6)  # measurements in quotes


def test_numbers_that_are_ragged_are_not_words() -> None:
    with pytest.raises(DataError) as caught:
        Dataset([[1.0, 2.0], [3.0]], [0, 1])
    assert "ragged" in caught.value.message


def test_times_are_not_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    days = numpy.array(["2020-01-01", "2020-02-02"], "datetime64[D]")
    with pytest.raises(DataError) as caught:
        Dataset(days, [0, 1])
    assert "datetime64[D] are not numbers" in caught.value.message
    assert "subtract the first one" in caught.value.hint


def test_a_number_beyond_the_table_is_told_with_its_row() -> None:
    good, wrong = [[1, 4], [2, 0]] * 4, [[1, 2], [2, 7]] * 4
    assert review(TOKENS, Dataset(good, [0, 1] * 4, length="max"))
    with pytest.raises(DataError) as caught:
        review(TOKENS, Dataset(wrong, [0, 1] * 4, length="max"))
    assert "row 1, element 1 is 7, table" in caught.value.message
    assert "has 5 rows" in caught.value.message and "size=8" in caught.value.hint


def test_a_text_over_sequences_is_reviewed_without_data() -> None:
    found = review(TOKENS, sequence_length=64)
    assert "E101" in {one.id for one in found.findings}
    assert [one.id for one in review(TOKENS).findings] == [one.id for one in found.findings]


@pytest.mark.parametrize("model", [None, 3])
def test_what_is_not_a_model_is_refused(model: Any) -> None:
    with pytest.raises(DataError) as caught:
        review(model)
    assert caught.value.code == "NNM703" and "a text in the notation" in caught.value.hint


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("learning_rate", "lr="),
        ("learningRate", "lr="),
        ("loss_function", "model:loss"),
        ("epoch", "epochs"),
    ],
)
def test_words_of_other_libraries_have_a_hint(word: str, hint: str) -> None:
    with pytest.raises(DataError) as caught:
        review(TEXT, **{word: 1})
    assert caught.value.code == "NNM703" and hint in caught.value.hint


async def test_a_number_beyond_the_table_is_told_in_predictions() -> None:
    pytest.importorskip("numpy")
    model = await NNModel.create(source=TOKENS, backend="numpy", log=lambda _: None)
    async with model:
        await model.predict([[1, 4], [2, 0]])
        with pytest.raises(DataError) as caught:
            await model.predict([[1, 4, 2], [2, 9]])
    assert "is 9, table" in caught.value.message and "row 1" in caught.value.message


STEPS = [[[float(n + k)] for k in range(4)] for n in range(12)]
EACH = (
    "m:input shape=[1] sequence=words; m:output shape=[3]; "
    "m:layers matmul(w, shape=[3]), softmax();"
)
WHOLE = EACH.replace("matmul", "reduceMean(axes=[words]), matmul")
BY_POSITION = [[(n + k) % 3 for k in range(4)] for n in range(12)]
ONE_HOT = [[float(n % 3 == k) for k in range(3)] for n in range(12)]


@pytest.mark.parametrize("labels", [NUMBERS, [[n] for n in NUMBERS], ONE_HOT])
def test_labels_of_rows_are_not_those_of_each_position(labels: Any) -> None:
    data = Dataset(STEPS, labels)
    with pytest.raises(DataError) as caught:
        review(EACH, data)
    assert 'an output at each position of "words"' in caught.value.message
    assert "reduceMean(axes=[words])" in caught.value.hint
    assert review(WHOLE, data), "what the hint says"


@pytest.mark.parametrize(
    "labels",
    [BY_POSITION, [[[float(k == c) for c in range(3)] for k in row] for row in BY_POSITION]],
)
def test_labels_of_positions_are_not_those_of_rows(labels: Any) -> None:
    data = Dataset(STEPS, labels, kinds={"model": "classes" if labels == BY_POSITION else "onehot"})
    with pytest.raises(DataError) as caught:
        review(WHOLE, data)
    assert 'labels are for 4 positions of "words"' in caught.value.message
    assert "leave out the layer" in caught.value.hint
    assert review(EACH, data), "what the hint says"


def test_measurements_fit_positions_only_where_the_model_has_them() -> None:
    numbers = [[float(n) / 7 + k for k in range(4)] for n in range(12)]
    each, whole = EACH.replace(", softmax()", ""), WHOLE.replace(", softmax()", "")
    one = each.replace("shape=[3]", "shape=[1]")
    four = whole.replace("shape=[3]", "shape=[4]")
    assert review(one, Dataset(STEPS, numbers)) and review(four, Dataset(STEPS, numbers))


def test_other_numbers_of_positions_are_told() -> None:
    data = Dataset(STEPS, [row[:3] for row in BY_POSITION], kinds={"model": "classes"})
    with pytest.raises(DataError) as caught:
        review(EACH, data)
    assert '3 positions, sequence "words" has 4' in caught.value.message


def test_the_order_that_is_advised_for_pictures_fits_their_labels() -> None:
    image = "m:input shape={channels:3, height:4, width:5}; m:output shape=[3, 4, 5]; "
    text = image + "m:layers softmax(axis=channels);"
    pictures = [[[[float(n + c)] * 5] * 4 for c in range(3)] for n in range(12)]
    data = Dataset(pictures, [[[n % 3] * 5] * 4 for n in range(12)], kinds={"model": "classes"})
    with pytest.raises(DataError) as caught:
        review(text, data)
    layer, shape = "transpose(permutation=[1, 2, 0])", "shape=[4, 5, 3]"
    assert layer in caught.value.hint and shape in caught.value.hint
    assert review(text.replace("shape=[3, 4, 5]", shape).replace(");", f"), {layer};"), data)


def test_json_has_the_warm_up_that_is_printed() -> None:
    found = review(TEXT, Dataset(ROWS, NUMBERS), epochs=100)
    assert "warmup_epochs 5" in found.describe()
    assert found.to_dict()["settings"]["warmup_epochs"] == 5
