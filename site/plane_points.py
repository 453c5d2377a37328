"""The points of the playground: made, drawn or taken from a link, and as data for a model."""

import json
import math
from random import Random

from page import element, make, read_number

LABELS = ("blue", "orange")
EXTENT = (-1.3, 1.3)
GRID = 40
"""Cells of the plane in each direction."""
MAX_POINTS = 1000
"""The maximum number of points of a link."""
RANGE = f"from −{EXTENT[1]} to {EXTENT[1]}"
NEAR = 0.02
"""Points drawn by dragging are as far apart, at least."""
SCALES = {"1": 1, "100": 100, "standard": 100}
"""By what inputs are multiplied, by the choices of the field; the last one is standardised then."""


class UnfitNetworkError(ValueError):
    """A network that cannot learn the points; the message says what does."""


def slope(x, y):
    """Return values that rise along one diagonal of the plane."""
    return (x + y) / 2


def hills(x, y):
    """Return the values of two hills and two hollows."""
    return math.fsum(
        sign * math.exp(-((x - sign * other * 0.5) ** 2 + (y - other * 0.5) ** 2) / 0.15)
        for sign in (-1, 1)
        for other in (-1, 1)
    )


SURFACES = {"slope": slope, "hills": hills}
"""What a network learns to compute, by the choices of the field: from about −1 to 1."""


def offer_features():
    """Offer a check box for each feature that a model may be told."""
    from webnnm.data.examples.plane import FEATURES

    for number, name in enumerate(FEATURES):
        box = make("div", class_="check")
        field = make("input", type="checkbox", id=f"feature-{number}", value=name)
        field.checked = number < 2
        box.append(field, make("label", name, for_=field.id))
        element("features").append(box)


def chosen_features():
    """Return the names of the features that are chosen."""
    boxes = element("features").querySelectorAll("input")
    return [box.value for box in boxes if box.checked]


def choose_features(names):
    """Choose features by their names, unless none has such a name; return whether one has."""
    boxes = [*element("features").querySelectorAll("input")]
    if not any(box.value in names for box in boxes):
        return False
    for box in boxes:
        box.checked = box.value in names
    return True


def compute_inputs(points):
    """Return what a model is told of points, a row for each."""
    from webnnm import plane_features

    scale = SCALES[element("scale").value]
    rows = plane_features(points, chosen_features())
    return [[scale * number for number in row] for row in rows]


def sample_plane():
    """Return what a model is told of the middle of each cell of the plane."""
    from webnnm.core.arrays import HostArray

    width = (EXTENT[1] - EXTENT[0]) / GRID
    middles = [EXTENT[0] + (number + 0.5) * width for number in range(GRID)]
    return HostArray.of(compute_inputs([(x, y) for y in middles for x in middles]), "float32")


def is_in_plane(x, y):
    """Return whether the plane has a place, which it does not for NaN."""
    return all(EXTENT[0] <= coordinate <= EXTENT[1] for coordinate in (x, y))


class PlanePoints:
    """Points and the target of each: a class, 0 or 1, or the value of a surface there."""

    def __init__(self):
        self.points, self.targets = [], []

    @property
    def are_drawn(self):
        """Whether somebody draws them, rather than that they are made."""
        return element("data").value == "drawn"

    @property
    def have_values(self):
        """Whether the target of a point is a value, rather than its class."""
        return element("data").value in SURFACES

    @property
    def outputs(self):
        """What the outputs of a model are called."""
        return ["value"] if self.have_values else [*LABELS]

    def make(self):
        """Make the points of the shape that is chosen; drawn ones stay as they are."""
        import webnnm

        if self.are_drawn:
            return
        noise, seed = read_number("noise"), int(read_number("seed"))
        rows, shape = int(read_number("rows")), element("data").value
        if self.have_values:
            random = Random(seed)
            self.points = [(random.uniform(-1, 1), random.uniform(-1, 1)) for _ in range(rows)]
            surface = SURFACES[shape]
            self.targets = [surface(*point) + random.gauss(0, noise) for point in self.points]
            return
        make_shape = getattr(webnnm, f"make_{shape}")
        self.points, self.targets = make_shape(rows, noise=noise, seed=seed)

    def clear(self):
        """Remove all points."""
        self.points, self.targets = [], []

    def add(self, x, y, number):
        """Add a point of a class."""
        self.points.append((round(x, 2), round(y, 2)))
        self.targets.append(number)

    def draw(self, text):
        """Add a point where the pointer is, as components/charts.js says it; return whether."""
        x, y, first, other = json.loads(text)
        if not first and any(abs(x - a) < NEAR and abs(y - b) < NEAR for a, b in self.points[-1:]):
            return False
        self.add(x, y, int(element("brush").value) ^ bool(other))
        return True

    def counts(self):
        """Return how many points there are of each class."""
        return [self.targets.count(number) for number in range(len(LABELS))]

    def to_shares(self, outputs):
        """Return how orange outputs of the model are, from 0, which is blue, to 1."""
        shares = [(value + 1) / 2 for value in outputs] if self.have_values else outputs
        if math.isnan(sum(shares)):  # weights that somebody sets can be too large for float32
            shares = [0.5 if math.isnan(share) else share for share in shares]
        return [round(min(max(share, 0), 1), 3) for share in shares]

    def rows(self):
        """Return the points as the plane has them."""
        from webnnm.charts.boundary import point_rows

        if not self.have_values:
            return point_rows(self.points, self.targets, LABELS)
        pairs = zip(self.points, self.to_shares(self.targets), strict=True)
        return [{"x": x, "y": y, "p": share} for (x, y), share in pairs]

    @property
    def are_enough(self):
        """Whether there are two points of each class, so that one can be kept apart."""
        return self.have_values or min(self.counts()) >= 2

    def to_text(self):
        """Return the points as a link has them."""
        rows = zip(self.points, self.targets, strict=True)
        return ";".join(f"{x:.2f},{y:.2f},{number}" for (x, y), number in rows)

    def take(self, text):
        """Take the points of a link: x, y and the class of each. Return what was wrong with it."""
        self.clear()
        parts = [part for part in text.split(";") if part]
        problems = []
        if len(parts) > MAX_POINTS:
            problems.append(f"{len(parts):,} points, of which {MAX_POINTS:,} are shown")
        wrong = 0
        for part in parts[:MAX_POINTS]:
            try:
                x, y, number = part.split(",")
                x, y = float(x), float(y)
            except ValueError:
                wrong += 1
                continue
            if is_in_plane(x, y):
                self.points.append((x, y))
                self.targets.append(int(number == "1"))
            else:
                wrong += 1
        if wrong:
            problems.append(f"{wrong} point{'s' if wrong > 1 else ''} without x1 and x2 {RANGE}")
        return problems

    def to_dataset(self, network):
        """Return the points as a network is told them; some are kept apart for validation.

        Raises `UnfitNetworkError` for a network whose outputs the plane cannot show.
        """
        from webnnm import Dataset

        share = float(element("split").value)
        outputs = [str(output.source.features) for output in network.outputs]
        has_one_output = outputs == ["[1]"]
        if self.have_values and not has_one_output:
            raise UnfitNetworkError(
                "Points with values need a network with one output, such as "
                "dense(shape=[1], activation=identity) as the last layer."
            )
        if not has_one_output and outputs != ["[2]"]:
            raise UnfitNetworkError(
                "Points of two classes need a network with two outputs, such as "
                "dense(shape=[2], activation=softmax) as the last layer, or with one."
            )
        return Dataset(
            compute_inputs(self.points),
            [[float(number)] for number in self.targets] if has_one_output else self.targets,
            name="points",
            labels=None if self.have_values else LABELS,
            features=chosen_features(),
            split=(share, 1 - share, 0),
            batch_size=min(int(read_number("batch")), len(self.points)),
            seed=int(read_number("seed")),
            standardize=element("scale").value == "standard",
        )
