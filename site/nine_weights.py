"""A network of nine weights, its loss, and a step of gradient descent."""

from webnnm import jit, value_and_grad, vmap, xp


def predict(weights, x):
    """Return the answer to a row, and the values of the two hidden units."""
    hidden = xp.tanh(weights["w"] @ x + weights["b"])
    return xp.sum(weights["v"] * hidden) + weights["c"], hidden


def loss(weights, x, target):
    """Return the squared error of the answer to a row, and the values on the way to it."""
    answer, hidden = predict(weights, x)
    return (answer - target) ** 2, (answer, hidden)


loss_and_gradients = jit(value_and_grad(loss, has_aux=True))
predict_rows = jit(vmap(predict, in_axes=(None, 0)))


def step(weights, x, target, rate):
    """Return the weights after a step down the gradient of the loss of a row."""
    _, gradients = loss_and_gradients(weights, x, target)
    return {name: weights[name] - rate * gradients[name] for name in weights}
