"""CartPole: four weights learn to balance poles, by policy gradient."""

from drawing import clear, dots, frame, line

from webnnm import grad, jit, random, scan, xp

CARTS, STEPS = 64, 200
BLOCK = 5  # steps between two frames
RATE = 1.0


def advance(state, push):
    """Return the state 0.02 s later: Barto, Sutton and Anderson 1983."""
    _, speed, angle, spin = (state[:, k] for k in range(4))
    force = (10 * push + 0.05 * spin**2 * xp.sin(angle)) / 1.1
    turn = 9.8 * xp.sin(angle) - xp.cos(angle) * force
    turn = turn / (0.5 * (4 / 3 - 0.1 * xp.cos(angle) ** 2 / 1.1))
    pull = force - 0.05 * turn * xp.cos(angle) / 1.1
    return state + 0.02 * xp.stack([speed, pull, spin, turn], axis=1)


@jit
def play(weights, state, up, key):
    """Go on for BLOCK steps; return also what was seen and done."""

    def step(carry, key):
        state, up = carry
        chance = 1 / (1 + xp.exp(-(state @ weights)))
        right = xp.astype(random.uniform(key, (CARTS,)) < chance, xp.float32)
        after = xp.where(up[:, None] > 0, advance(state, 2 * right - 1), state)
        fine = (xp.abs(after[:, 0]) < 2.4) & (xp.abs(after[:, 2]) < 0.21)
        return (after, xp.where(fine, up, 0)), (state, right, up)

    return scan(step, (state, up), random.split(key, BLOCK))


@jit
def improve(weights, seen, right, up):
    """Make likelier what kept poles up: REINFORCE, Williams 1992."""
    left = xp.flip(xp.cumulative_sum(xp.flip(up, axis=0), axis=0), axis=0)
    usual = xp.sum(left, axis=1, keepdims=True) / xp.maximum(xp.sum(up, axis=1, keepdims=True), 1)
    better = up * (left - usual) / STEPS

    def gain(weights):
        scores = seen @ weights
        return xp.sum(better * (right * scores - xp.logaddexp(scores, 0 * scores))) / xp.sum(up)

    slope = grad(gain)(weights)
    return weights + RATE * slope / (xp.sqrt(xp.sum(slope**2)) + 1e-8)


key, weights = random.key(0), xp.zeros(4)
for episode in range(20):
    key, start = random.split(key)
    state, up, record = 0.1 * random.uniform(start, (CARTS, 4)) - 0.05, xp.ones(CARTS), []
    for _ in range(STEPS // BLOCK):
        key, block = random.split(key)
        (state, up), seen = play(weights, state, up, block)
        record.append(seen)
        clear(x=(-2.6, 2.6), y=(-0.3, 1.5))
        foot = xp.stack([state[:, 0], 0 * up], axis=1)
        tip = foot + xp.stack([xp.sin(state[:, 2]), xp.cos(state[:, 2])], axis=1)
        line(xp.stack([foot, tip], axis=1))
        dots(foot)
        await frame(episode=episode + 1, upright=xp.sum(up))
    seen, right, up = (xp.concat(each) for each in zip(*record, strict=True))
    weights = improve(weights, seen, right, up)
    steps = float(await xp.sum(up)) / CARTS
    print(f"episode {episode + 1}: balanced for {steps:.0f} of {STEPS} steps")
