"""Logistic regression by hand: on which side of a line is a point?"""

from drawing import clear, contours, dots, frame

from webnnm import grad, jit, random, xp

COUNT = 100  # points of each class
RATE = 0.5

first, second = random.split(random.key(1))
zeros = random.normal(first, (COUNT, 2)) * 0.6 + xp.asarray([-0.8, -0.5])
ones = random.normal(second, (COUNT, 2)) * 0.6 + xp.asarray([0.7, 0.6])
points = xp.concat([zeros, ones])
labels = xp.concat([xp.zeros(COUNT), xp.ones(COUNT)])


def features(points):
    x, y = points[..., 0], points[..., 1]
    # Add x * y, x**2 and y**2: the boundary bends.
    return xp.stack([xp.ones_like(x), x, y], axis=-1)


def probability(weights, points):
    return 1 / (1 + xp.exp(-(features(points) @ weights)))


def loss(weights):
    """Return how unlikely the labels are: log(1 + exp(score)) − label × score."""
    scores = features(points) @ weights
    return xp.mean(xp.logaddexp(scores, 0 * scores) - labels * scores)


@jit
def step(weights, rate):
    return weights - rate * grad(loss)(weights)


x, y = xp.meshgrid(xp.linspace(-3, 3, 49), xp.linspace(-3, 3, 49))
plane = xp.stack([x, y], axis=-1)
weights = xp.zeros(features(points).shape[-1])
for number in range(150):
    weights = step(weights, RATE)
    right = xp.mean(xp.astype((probability(weights, points) > 0.5) == (labels == 1), xp.float32))
    clear(x=(-3, 3), y=(-3, 3))
    contours(probability(weights, plane), levels=[0.1, 0.9])
    contours(probability(weights, plane), levels=[0.5], width=3)
    dots(zeros, colour=1)
    dots(ones, colour=2)
    await frame(step=number + 1, loss=loss(weights), right=right)
