"""A neural field: a network learns which colour is where."""

from drawing import clear, frame, image, picture

from webnnm import jit, random, tree_map, value_and_grad, xp

SIZE = 48  # pixels along a side
WIDTH = 48  # units of a layer
WAVES = 5  # with fewer of them the picture is blurred
RATE = 0.01

side = xp.linspace(0, 1, SIZE)
y, x = xp.meshgrid(side, side, indexing="ij")
places = xp.reshape(xp.stack([x, y], axis=-1), (SIZE * SIZE, 2))
turns = [places] + [turn(2**k * xp.pi * places) for k in range(WAVES) for turn in (xp.sin, xp.cos)]
places = xp.concat(turns, axis=1)  # Fourier features: Tancik et al. 2020


def layer(key, units, more):
    return {"w": random.normal(key, (units, more)) * (2 / units) ** 0.5, "b": xp.zeros(more)}


def field(layers, points):
    for layer in layers[:-1]:
        points = xp.maximum(points @ layer["w"] + layer["b"], 0)
    return points @ layers[-1]["w"] + layers[-1]["b"]


def loss(layers, colours):
    return xp.mean((field(layers, places) - colours) ** 2)


@jit(donate_argnames=["layers", "mean", "square"])
def step(layers, mean, square, colours, rate):  # Adam: Kingma and Ba 2015
    value, slopes = value_and_grad(loss)(layers, colours)
    mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
    square = tree_map(lambda s, g: 0.99 * s + 0.01 * g**2, square, slopes)
    better = tree_map(lambda p, m, s: p - rate * m / (xp.sqrt(s) + 1e-8), layers, mean, square)
    return better, mean, square, value


keys = random.split(random.key(0), 3)
sizes = [places.shape[1], WIDTH, WIDTH, 3]
layers = [layer(keys[k], *sizes[k : k + 2]) for k in range(3)]
mean, square = tree_map(xp.zeros_like, layers), tree_map(xp.zeros_like, layers)
draw = jit(lambda layers: xp.reshape(field(layers, places), (SIZE, SIZE, 3)))
for number in range(600):
    colours = xp.reshape(picture(SIZE), (SIZE * SIZE, 3))
    rate = RATE * min(1, (number + 1) / 20)
    layers, mean, square, value = step(layers, mean, square, colours, rate)
    clear(x=(0, 1), y=(0, 1))
    image(draw(layers))
    await frame(step=number + 1, loss=value)
