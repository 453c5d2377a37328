"""What is suspicious about texts: a word that tells the class, unknown words, ends that are cut."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.evaluation.paired_tests import compare_hits
from webnnm.expert.examination.bags import cross_predict_by_words
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MAX_TEXTS, MIN_TEXTS = 1000, 40
MAX_TOKENS = 40_000
"""The texts of a class or subset that are examined, and their tokens: 0.1 s on a desktop."""

MAX_P = 0.001

MIN_SHARE_OF_CLASS, MAX_SHARE_ELSEWHERE = 0.99, 0.01
"""The shares of the texts of a class, and of the others, that have a word that tells the class."""

MAX_WORDS, MIN_SHARE_OF_WORD = 3, 0.1
"""So many words that only one class has, each in this share of its texts, may tell it together."""

TRACE_SHARE = 0.9
"""A word in this share of the texts of a class, and in hardly any other, is of the same origin."""

EASY_ACCURACY = 0.95
"""If all other words tell the class of this share of the texts as well, the task is easy."""

MIN_INCREASE, MIN_RATIO, MIN_ERRORS = 0.2, 2.0, 5.0
"""By how much the share of unknown words is larger elsewhere: as a difference, as a ratio, and in
standard errors."""

SPELLINGS: dict[str, Callable[[str], str]] = {"small letters": str.lower, "capitals": str.upper}

MIN_CUT_TEXTS, MIN_CUT_TOKENS, MIN_GAIN = 0.5, 0.25, 0.05
"""The shares of the texts and of the tokens that are cut, and the accuracy that this costs."""


def find_telling_words(rows: Rows) -> Suspicion | None:
    """Find a word, or up to three, that all texts of one class have, and none of the others."""
    labels, tokens = rows.target, _read_tokens(rows, rows.training)
    if labels is None or not rows.classes or not tokens:
        return None
    bags: dict[int, frozenset[int]] = {row: frozenset(ids) for row, ids in tokens.items()}
    sizes = Counter(labels[row] for row in bags)
    if len(sizes) < 2:
        return None
    found_in = {label: Counter[int]() for label in sizes}
    for row, bag in bags.items():
        found_in[labels[row]].update(bag)
    everywhere = sum(found_in.values(), Counter[int]())
    telling: dict[float, set[int]] = {}
    for label, size in sizes.items():
        others = len(bags) - size
        own = [
            (number, token)
            for token, number in found_in[label].items()
            if number >= MIN_SHARE_OF_WORD * size
            and everywhere[token] - number <= MAX_SHARE_ELSEWHERE * others
        ]
        members = [ids for row, ids in tokens.items() if labels[row] == label]
        words = _cover([token for _, token in sorted(own, reverse=True)], members)
        if words and _have_one_place(words, members) and min(size, others) >= MIN_TEXTS / 2:
            telling[label] = words | {
                token for number, token in own if number >= TRACE_SHARE * size
            }
    if not telling:
        return None
    left_out = set[int]().union(*telling.values())
    hits = [
        *cross_predict_by_words({r: bag - left_out for r, bag in bags.items()}, labels).values()
    ]
    most_common = sizes.most_common(1)[0][0]
    guessed = [labels[row] == most_common for row in bags]
    right = _share(hits)
    if not _share(guessed) < right < EASY_ACCURACY or compare_hits(hits, guessed) >= MAX_P:
        return None
    return _describe_words(rows, telling, right)


def _cover(words: Sequence[int], members: Sequence[Sequence[int]]) -> set[int]:
    """Return the first words that nearly all members have one of, none if it takes too many."""
    chosen: set[int] = set()
    missing = [*members]
    for token in words:
        rest = [ids for ids in missing if token not in ids]
        if len(missing) - len(rest) >= MIN_SHARE_OF_WORD * len(members):
            chosen.add(token)
            missing = rest
        if len(missing) <= (1 - MIN_SHARE_OF_CLASS) * len(members):
            return chosen
        if len(chosen) == MAX_WORDS:
            break
    return set()


def _have_one_place(words: Set[int], members: Sequence[Sequence[int]]) -> bool:
    """Return whether it is one word, or several that stand at the same place of texts."""
    places = Counter(ids.index(token) for ids in members for token in words if token in ids)
    return len(words) == 1 or max(places.values()) >= TRACE_SHARE * len(members)


def _describe_words(rows: Rows, telling: Mapping[float, Set[int]], right: float) -> Suspicion:
    """Return what is told of the words that tell classes."""
    messages: list[str] = []
    for label, words in telling.items():
        numbers = sorted(words)
        spelled = rows.reader.tokenizer.read_tokens(numbers) if rows.reader else map(str, numbers)
        kind = rows.class_names[int(label)] if rows.class_names else f"{label:g}"
        shown = " or ".join(f'"{token}"' for token in spelled)
        messages.append(f"nearly all texts of class {kind} have {shown}, and hardly any others")
    return Suspicion(
        f"{'; '.join(messages)}; all other words tell the class of {right:.0%} of the texts",
        {"words": sorted(set[int]().union(*telling.values())), "others": right},
    )


def find_unknown_words(rows: Rows) -> Suspicion | None:
    """Find subsets whose texts have far more words that no training text has than a training text
    has words that no other one has."""
    trained = _read_tokens(rows, rows.training)
    if not trained or rows.reader is None or len(trained) < MIN_TEXTS:
        return None
    tokenizer = rows.reader.tokenizer
    texts_with = Counter(token for ids in trained.values() for token in {*ids})
    if tokenizer.unknown is not None:
        texts_with.pop(tokenizer.unknown, None)
    once = [_share([texts_with[token] <= 1 for token in ids]) for ids in trained.values()]
    usual, spread = compute_moments(once)
    for subset in ("testing", "validation"):
        others = _read_tokens(rows, rows.subsets[subset])
        if len(others) < MIN_TEXTS / 2:
            continue
        unknown = [_share([token not in texts_with for token in ids]) for ids in others.values()]
        share, deviation = compute_moments(unknown)
        error = math.sqrt(spread**2 / len(once) + deviation**2 / len(unknown))
        more = share - usual
        if more < max(MIN_INCREASE, (MIN_RATIO - 1) * usual) or more < MIN_ERRORS * error:
            continue
        remedy, spelling = "", ""
        for name, spell in SPELLINGS.items():
            spelled = [tokenizer.encode(spell(rows.texts[row])) for row in others if rows.texts]
            left = [_share([token not in texts_with for token in ids]) for ids in spelled if ids]
            if left and math.fsum(left) / len(left) < share - more / 2:
                spelling = f"; written in {name}, {math.fsum(left) / len(left):.0%}"
                remedy = "Read the texts of all subsets in one spelling: lowercase=True."
        return Suspicion(
            f"{share:.0%} of the words of {subset} texts are in no training text; of those of a "
            f"training text {usual:.0%} are in no other one{spelling}",
            {"share": share, "usual": usual},
            remedy,
        )
    return None


def find_cut_texts(rows: Rows) -> Suspicion | None:
    """Find texts whose class the words after the end of what is read help to tell."""
    labels = rows.target
    if rows.reader is None or not rows.texts or labels is None or not rows.classes:
        return None
    read, ids_by_row = rows.reader.length, dict[int, Sequence[int]]()
    left = MAX_TOKENS
    for row in thin(rows.training, MAX_TEXTS):
        ids_by_row[row] = rows.reader.tokenizer.encode(rows.texts[row])
        left -= len(ids_by_row[row])
        if left < 0:
            break
    tokens = sum(map(len, ids_by_row.values()))
    cut_texts = _share([len(ids) > read for ids in ids_by_row.values()])
    cut = 1 - sum(min(len(ids), read) for ids in ids_by_row.values()) / max(1, tokens)
    if len(ids_by_row) < MIN_TEXTS or cut_texts < MIN_CUT_TEXTS or cut < MIN_CUT_TOKENS:
        return None
    hits, hits_read = (
        [
            *cross_predict_by_words(
                {row: {*ids[:end]} for row, ids in ids_by_row.items()}, labels
            ).values()
        ]
        for end in (None, read)
    )
    gain, p = _share(hits) - _share(hits_read), compare_hits(hits, hits_read)
    if gain < MIN_GAIN or p >= MAX_P:
        return None
    return Suspicion(
        f"{cut_texts:.0%} of the texts are longer than the {read} tokens that are read of them, "
        f"and {cut:.0%} of all tokens are cut off; by all words the class of {_share(hits):.0%} of "
        f"other texts is told, by those that are read that of {_share(hits_read):.0%}",
        {"cut": cut, "texts": cut_texts, "gain": gain},
    )


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def _read_tokens(rows: Rows, selected: Sequence[int]) -> dict[int, Sequence[int]]:
    """Return row → its tokens of some of these rows; none if the only input has no tokens."""
    ((block, values), *others) = rows.inputs.items()
    length, field = count(values.shape[1:]), rows.fields[block]
    if others or is_float(values.dtype) or len(values.shape) != 2 or not field.sequence:
        return {}
    limit = min(MAX_TEXTS, max(MIN_TEXTS, MAX_TOKENS // max(1, length)))
    lengths, flat = getattr(values, "lengths", ()), values.values()
    return {
        row: [
            int(id)
            for id in flat[row * length : row * length + (lengths[row] if lengths else length)]
        ]
        for row in thin(selected, limit)
    }
