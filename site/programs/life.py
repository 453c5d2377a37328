"""The game of life: a convolution counts the neighbours of cells."""

from drawing import clear, frame, image

from webnnm import jit, random, xp

SIZE = 64
SOUP = 0.2  # so many cells live at first, beside the glider
KERNEL = [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
GLIDER = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]


def convolve(board, kernel):
    """Return the weighted sums of the cells around each; edges meet."""
    total = xp.zeros_like(board)
    for down, row in enumerate(kernel):
        for right, weight in enumerate(row):
            total += weight * xp.roll(board, (1 - down, 1 - right), axis=(0, 1))
    return total


@jit
def after(board):
    """Conway's rule: three neighbours give life, two keep it."""
    neighbours = convolve(board, KERNEL)
    return xp.astype((neighbours == 3) | ((neighbours == 2) & (board == 1)), xp.float32)


board = xp.astype(random.uniform(random.key(3), (SIZE, SIZE)) < SOUP, xp.float32)
board[:16, :16] = 0
board[4:7, 4:7] = xp.asarray(GLIDER)
for generation in range(1000):
    clear(x=(0, SIZE), y=(0, SIZE))
    image(board)
    await frame(generation=generation, alive=xp.sum(board))
    board = after(board)
