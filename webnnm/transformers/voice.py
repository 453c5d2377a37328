"""Whether a window of sound can hold speech, from its loudness alone.

Whisper was trained on pairs of sound and text, and writes words for silence, such as "you" or
"Thank you". Its own measures do not always tell: the probability of silence is low, or that of the
words is high. Windows without speech are therefore not shown to it, as by the voice activity
detection of faster-whisper, but only where loudness leaves no doubt.
"""

from __future__ import annotations

import math

FRAME = 320
"""Samples of a frame, 0.02 s."""
LOUD = 0.05
"""The peak above which nothing else is asked: speech at arm's length from a microphone."""
SILENT = 3e-4
"""The peak below which there is silence, whatever it is: ten steps of 16 bits."""
NOISE = 0.01
"""The root mean square below which an even noise is that of a room or of a microphone."""
EVEN = 2.0
"""How much louder the loudest frame of an even noise is than a quiet one, at most: speech has
pauses and vowels, which differ by far more."""


def has_speech(samples: bytes | memoryview[int], silent: float = SILENT) -> bool:
    """Return whether float32 samples at 16 kHz can hold speech.

    >>> has_speech(bytes(64000))
    False

    `silent` is the peak below which there is silence.
    """
    values = memoryview(samples).cast("B").cast("f")
    if not len(values):
        return False
    peak = max(max(values), -min(values))
    if peak >= LOUD:
        return True
    if peak < silent:
        return False
    starts = range(0, len(values) - FRAME + 1, FRAME)
    levels = sorted(
        math.sqrt(sum(value * value for value in values[start : start + FRAME]) / FRAME)
        for start in starts
    )
    if not levels:
        return True
    return levels[-1] >= NOISE or levels[-1] > EVEN * levels[len(levels) // 5]
