"""A play without an end: lines of verse put together from word lists, for a network to learn."""

import random

SPEAKERS = ("KING", "QUEEN", "FOOL", "DUKE", "NURSE", "GHOST", "PAGE", "WITCH")
NAMES = ("my lord", "good nurse", "sweet queen", "dear fool", "old friend", "proud duke")
PLACES = ("the garden", "the tower", "yonder hill", "the northern gate", "this hollow wood")
THINGS = ("the moon", "the candle", "my heart", "the river", "thy crown", "our quarrel", "the rose")
LIKE = ("a ship at sea", "the winter sun", "a broken lute", "an honest thief", "the morning dew")
QUALITIES = ("pale", "weary", "golden", "bitter", "gentle", "hollow", "merry", "faithless")
DEEDS = ("sleeps", "burns", "weeps", "sings", "trembles", "fades", "wanders", "laughs")
TIMES = ("tonight", "at break of day", "ere long", "till the bells ring", "once again")
FORMS = (
    "{Thing} {deed} {time} in {place}.",
    "Come, {name}, and see how {thing} {deed}.",
    "What {quality} hour is this, that {thing} {deed}?",
    "{Thing} is {quality}, {name}, like {like}.",
    "Say not that {thing} {deed} like {like}.",
    "I saw {thing} {time}, {quality} as {like}.",
    "O {quality} night! {Thing} {deed}, and so do I.",
    "Who {deed} in {place} {time}?",
    "Speak, {name}: is {thing} so {quality}?",
    "To {place}, {name}, for {thing} {deed}!",
)


def play(letters, seed=0):
    """Return about so many letters of a play; the same seed gives the same play.

    >>> play(60).startswith(SPEAKERS)
    True
    """
    draw = random.Random(seed)
    parts = []
    size = 0
    while size < letters:
        lines = [line(draw) for _ in range(draw.randint(1, 4))]
        parts.append(f"{draw.choice(SPEAKERS)}:\n" + "\n".join(lines) + "\n\n")
        size += len(parts[-1])
    return "".join(parts)


def line(draw):
    """Return one line."""
    thing = draw.choice(THINGS)
    return draw.choice(FORMS).format(
        thing=thing,
        Thing=thing[0].upper() + thing[1:],
        name=draw.choice(NAMES),
        place=draw.choice(PLACES),
        like=draw.choice(LIKE),
        quality=draw.choice(QUALITIES),
        deed=draw.choice(DEEDS),
        time=draw.choice(TIMES),
    )
