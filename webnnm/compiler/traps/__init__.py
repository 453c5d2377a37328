"""The table of known traps: what backends refuse or compute wrongly although their limits allow it.

To add one, write a rule that returns a replacement (or None if the node is safe) and a record, in
the module of its kind. Rules of `TRAPS` are applied again to their own results, in which they must
find nothing left to do; those of `GUARDS` are applied once, when everything else fits.

One fault has no rewrite: Chromium's convolutions with computed filters treat NaN and infinity as
the largest number, those with constant filters spread NaN to neighbouring pixels, and its pools
lose NaN. A rewrite would cost as much again as the convolution or the pool; a training that
diverges is detected nevertheless, by its loss and gradients.
"""

from webnnm.compiler.traps import (
    broadcasting,
    constants,
    convolution,
    division,
    logic,
    movement,
    numbers,
    quantisation,
    ranks,
    recurrent,
    views,
)
from webnnm.compiler.traps.trap import Trap as Trap

TRAPS = (
    *broadcasting.TRAPS,
    *convolution.TRAPS,
    *division.TRAPS,
    *logic.TRAPS,
    *movement.TRAPS,
    *numbers.TRAPS,
    *quantisation.TRAPS,
    *ranks.TRAPS,
    *recurrent.TRAPS,
    *views.TRAPS,
    *constants.TRAPS,
)
GUARDS = (*numbers.GUARDS, *quantisation.GUARDS, *constants.GUARDS)
ALL_TRAPS = (*TRAPS, *GUARDS)
"""The traps to expect of an unknown implementation."""
