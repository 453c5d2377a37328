"""Gradient descent: a ball on a surface knows nothing but the slope."""

from drawing import clear, contours, dots, frame, line

from webnnm import jit, value_and_grad, xp

START = [-0.4, -0.9]
RATE = 0.002
MOMENTUM = 0.9  # 0: it creeps; 0.99: it overshoots


def height(point):
    """Himmelblau's surface: four valleys. Write another one."""
    x, y = point[0], point[1]
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


@jit
def step(point, velocity):
    value, slope = value_and_grad(height)(point)
    velocity = MOMENTUM * velocity - RATE * slope
    return point + velocity, velocity, value


clear(x=(-6, 6), y=(-6, 6))
x, y = xp.meshgrid(xp.linspace(-6, 6, 97), xp.linspace(-6, 6, 97))
contours(xp.log1p(height(xp.stack([x, y]))), levels=16)

point, velocity = xp.asarray(START), xp.zeros(2)
dots([START], colour=1)
for number in range(120):
    before = point
    point, velocity, value = step(point, velocity)
    line(xp.stack([before, point]), colour=1)
    await frame(step=number + 1, height=value)
dots([point], colour=2)
await frame(step=number + 1, height=value)
