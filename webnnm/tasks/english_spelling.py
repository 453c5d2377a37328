"""How English words sound that no dictionary has, by their spelling."""

from __future__ import annotations

import re

RULES = {
    "tion": "SH AH0 N", "sion": "ZH AH0 N", "ture": "CH ER0", "igh": "AY1", "tch": "CH",
    "dge": "JH", "ch": "CH", "sh": "SH", "th": "TH", "ph": "F", "wh": "W", "ck": "K", "ng": "NG",
    "qu": "K W", "gh": "G", "ee": "IY1", "ea": "IY1", "oo": "UW1", "oa": "OW1", "ou": "AW1",
    "ow": "OW1", "oi": "OY1", "oy": "OY1", "ai": "EY1", "ay": "EY1", "au": "AO1", "aw": "AO1",
    "ei": "EY1", "ey": "IY1", "ie": "IY1", "ue": "UW1", "ew": "UW1", "er": "ER1", "ar": "AA1 R",
    "or": "AO1 R", "ir": "ER1", "ur": "ER1",
    "a": "AE1", "b": "B", "c": "K", "d": "D", "e": "EH1", "f": "F", "g": "G", "h": "HH",
    "i": "IH1", "j": "JH", "k": "K", "l": "L", "m": "M", "n": "N", "o": "AA1", "p": "P",
    "q": "K", "r": "R", "s": "S", "t": "T", "u": "AH1", "v": "V", "w": "W", "x": "K S",
    "y": "IY1", "z": "Z",
}  # fmt: skip
"""Letters → sounds in the letters of the CMU dictionary."""
LONG = {"a": "EY1", "e": "IY1", "i": "AY1", "o": "OW1", "u": "UW1", "y": "AY1"}
"""Vowels before a consonant and a silent e."""
_LONGEST = max(map(len, RULES))


def sound_out(word: str) -> list[str]:
    """Return the sounds of a word; its first vowel has the stress.

    >>> sound_out("zorb"), sound_out("blicket"), sound_out("snape")
    (['Z', 'AO1', 'R', 'B'], ['B', 'L', 'IH1', 'K', 'EH0', 'T'], ['S', 'N', 'EY1', 'P'])
    """
    letters = re.sub(r"([^aeiou])\1", r"\1", re.sub("[^a-z]", "", word))
    letters = re.sub("^(kn|wr|ps)", lambda match: match[0][1], letters)
    sounds: list[str] = []
    start = 0
    while start < len(letters):
        silent = re.match(r"([aeiouy])([^aeiouywxr])e$", letters[start:])
        if silent and len(letters) > 2:
            ending = "S" if silent[2] == "c" else "JH" if silent[2] == "g" else RULES[silent[2]]
            sounds += [LONG[silent[1]], ending]
            break
        size = next(n for n in range(_LONGEST, 0, -1) if letters[start : start + n] in RULES)
        piece, after = letters[start : start + size], letters[start + size : start + size + 1]
        if piece == "c" and after in ("e", "i", "y"):
            sounds.append("S")
        elif piece == "y" and start == 0:
            sounds.append("Y")
        elif not (piece == "e" and not after and sounds):
            sounds += RULES[piece].split()
        start += size
    vowels = [index for index, sound in enumerate(sounds) if sound.endswith("1")]
    for index in vowels[1:]:
        sounds[index] = sounds[index].replace("1", "0")
    return sounds
