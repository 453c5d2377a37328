"""What the programs of the page draw with: every function takes arrays, lists or numbers.

What is drawn shows at the next `await frame()`, which also computes the arrays that it takes.
"""

from pyscript import ffi
from pyscript.js_modules import canvas, pictures

from webnnm import xp

_waiting = []
"""What is to be drawn: a function of canvas.js, its arrays, and its other arguments."""
_listeners = []


def on_frame(listener):
    """Call `listener` with the figures of every frame."""
    _listeners[:] = [listener]


def forget():
    """Forget what is waiting to be drawn."""
    _waiting.clear()


def clear(x=(0, 1), y=(0, 1)):
    """Begin anew, with a part of the plane: x from left to right, y from below to above."""
    _waiting.clear()
    _later(canvas.clear, [], *x, *y)


def line(points, colour=0, width=2):
    """Draw lines through `points` [n, 2], or several of them [lines, n, 2]."""
    points = _numbers(points)
    _later(canvas.line, [points], points.shape[-2], colour, width)


def dots(points, colour=0):
    """Draw dots at `points` [n, 2]: full ones in the colours 0 and 2, rings in 1."""
    _later(canvas.dots, [_numbers(points)], colour)


def contours(values, levels=12, width=1):
    """Draw lines along which a grid of `values` [rows, columns] is equal; its first row is below.

    `levels` are the values, or their number.
    """
    values = _numbers(values)
    levels_or_count = (
        levels if isinstance(levels, int) else ffi.to_js([float(level) for level in levels])
    )
    _later(canvas.contours, [values], values.shape[1], levels_or_count, width)


def image(values):
    """Fill the drawing with `values` from 0 to 1, [rows, columns] or [rows, columns, 3] of colours.

    The first row is above.
    """
    values = _numbers(values)
    colours = values.shape[2] if values.ndim == 3 else 1
    _later(canvas.image, [values], values.shape[1], colours)


def picture(size):
    """Return the picture that is chosen below the program, or what the camera sees.

    Its middle as colours from 0 to 1: [size, size, 3].
    """
    planes = pictures.square(size).to_py()
    values = memoryview(planes).cast("B").cast("f", [3, size, size])
    return xp.permute_dims(xp.asarray(values), (1, 2, 0))


async def frame(**figures):
    """Show what was drawn, and `figures` below it, and let the page live."""
    waiting = [*_waiting]
    _waiting.clear()
    # A program that is stopped while it waits for arrays leaves the last drawing whole.
    computed = [
        (draw, [await _flat(array) for array in arrays], more) for draw, arrays, more in waiting
    ]
    for draw, flat, more in computed:
        draw(*flat, *more)
    shown = {}
    for name, value in figures.items():
        if hasattr(value, "numpy"):
            await value
        shown[name] = value.item() if hasattr(value, "item") else value
    for listener in _listeners:
        listener(shown)
    await canvas.drawn()


async def _flat(array):
    """Return the values of an array of float32, in the order of memory."""
    return ffi.to_js(memoryview(await array.numpy()).cast("B").cast("f"))


def _numbers(values):
    """Return values as an array of float32."""
    if isinstance(values, (list, tuple)):
        values = xp.stack([_numbers(item) for item in values])
    return xp.astype(xp.asarray(values), xp.float32)


def _later(draw, arrays, *more):
    _waiting.append((draw, arrays, more))
