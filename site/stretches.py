"""Stretches of speech, from the probabilities of frames."""

BEGINS, ENDS = 0.5, 0.35
"""Probabilities from which, and down to which, somebody speaks: apart, so that none flickers."""
SILENCE, SPEECH = 0.1, 0.25
"""Seconds of silence that end a stretch, and seconds that a stretch lasts at least."""


class Stretches:
    """Who spoke when, from one probability after another.

    >>> speech = Stretches(seconds=0.25)
    >>> for probability in (0.1, 0.9, 0.8, 0.1, 0.1):
    ...     _ = speech.add(probability)
    >>> speech.found
    [(0.25, 0.75)]
    """

    def __init__(self, seconds):
        self.seconds = seconds
        self.found = []
        self.time = 0.0
        self.begun = None
        self.quiet = None

    @property
    def speaking(self):
        """Whether somebody speaks now."""
        return self.begun is not None

    def add(self, probability):
        """Take in the probability of the next frame; return whether a stretch has ended."""
        here = self.time
        self.time += self.seconds
        if self.begun is None:
            if probability >= BEGINS:
                self.begun, self.quiet = here, None
            return False
        if probability >= ENDS:
            self.quiet = None
            return False
        if self.quiet is None:
            self.quiet = here
        return self.time - self.quiet >= SILENCE and self.end()

    def end(self):
        """End the stretch, as the sound does; return whether it was long enough to count."""
        if self.begun is None:
            return False
        stretch = self.begun, self.time if self.quiet is None else self.quiet
        self.begun = self.quiet = None
        if stretch[1] - stretch[0] < SPEECH:
            return False
        self.found.append(stretch)
        return True
