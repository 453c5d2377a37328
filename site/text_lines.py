"""Lines of text: where they are in the map of a detector, and what a recogniser read in them.

The detector's map is turned into boxes as in "Real-time Scene Text Detection with Differentiable
Binarization" (Liao et al. 2020): regions above a threshold, the smallest rectangle around each,
grown by the share that the map was shrunk by in training.
"""

import math

THRESHOLD = 0.3
SURE = 0.5
"""The mean of the map within a region that is taken for text."""
GROWTH = 1.6
LEAST_SIDE = 3
BLANK = 0
"""The class of a recogniser that stands between two characters."""


def boxes(values, width, height):
    """Return the rectangles of lines, four corners (x, y) each, from the upper left clockwise.

    `values` are the probabilities of a map of `height` rows, a flat sequence.
    """
    rectangles = []
    for runs in regions(values, width, height):
        count = sum(end - begin for _, begin, end in runs)
        total = sum(
            sum(values[row * width + begin : row * width + end]) for row, begin, end in runs
        )
        if total < SURE * count:
            continue
        points = [(x, row) for row, begin, end in runs for x in (begin, end - 1)]
        centre, along, sides = smallest_rectangle(points)
        if min(sides) < LEAST_SIDE:
            continue
        grown = GROWTH * sides[0] * sides[1] / (2 * (sides[0] + sides[1]))
        if min(sides) + 2 * grown >= LEAST_SIDE + 2:
            rectangles.append(corners(centre, along, (sides[0] + 2 * grown, sides[1] + 2 * grown)))
    return in_reading_order(rectangles)


def regions(values, width, height):
    """Return the connected regions above the threshold, each a list of runs (row, begin, end).

    Regions are grown by one pixel to the right and down, which closes small gaps.
    """
    parents = []

    def root(number):
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    runs, above, before = [], [], 0
    for row in range(height):
        bits = bytes(map(THRESHOLD.__lt__, values[row * width : (row + 1) * width]))
        here = int.from_bytes(bits, "little")
        mask = here | before
        before = here
        mask |= (mask << 8) & ((1 << 8 * width) - 1)
        line, below, end = mask.to_bytes(width, "little"), [], 0
        while (begin := line.find(1, end)) >= 0:
            end = line.find(0, begin)
            end = width if end < 0 else end
            number = len(parents)
            parents.append(number)
            below.append((begin, end, number))
            runs.append((row, begin, end))
            for other, last, neighbour in above:
                if other <= end and last >= begin:
                    parents[root(number)] = root(neighbour)
        above = below
    groups = {}
    for number, run in enumerate(runs):
        groups.setdefault(root(number), []).append(run)
    return list(groups.values())


def smallest_rectangle(points):
    """Return centre, direction and sides of the smallest rectangle around points.

    One of its sides lies along a side of the convex hull (Freeman and Shapira 1975).
    """
    hull = convex_hull(points)
    best = None
    for (x, y), (u, v) in zip(hull, hull[1:] + hull[:1], strict=True):
        length = math.hypot(u - x, v - y)
        along = ((u - x) / length, (v - y) / length) if length else (1.0, 0.0)
        first = [px * along[0] + py * along[1] for px, py in hull]
        second = [py * along[0] - px * along[1] for px, py in hull]
        sides = max(first) - min(first), max(second) - min(second)
        if best is None or sides[0] * sides[1] < best[0]:
            middle = (max(first) + min(first)) / 2, (max(second) + min(second)) / 2
            centre = (
                middle[0] * along[0] - middle[1] * along[1],
                middle[0] * along[1] + middle[1] * along[0],
            )
            best = sides[0] * sides[1], centre, along, sides
    return best[1:]


def convex_hull(points):
    """Return the corners of the convex hull (Andrew 1979)."""
    points = sorted(set(points))
    if len(points) < 3:
        return points

    def half(ordered):
        hull = []
        for x, y in ordered:
            while len(hull) > 1:
                (a, b), (c, d) = hull[-2:]
                if (c - a) * (y - b) > (d - b) * (x - a):
                    break
                hull.pop()
            hull.append((x, y))
        return hull[:-1]

    return half(points) + half(points[::-1])


def corners(centre, along, sides):
    """Return the corners of a rectangle, from the upper left clockwise, as its text runs."""
    x, y = centre
    (a, b), (wide, high) = along, sides
    points = [
        (x + i * a * wide / 2 - j * b * high / 2, y + i * b * wide / 2 + j * a * high / 2)
        for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    by_left = sorted(points)
    left = sorted(by_left[:2], key=lambda point: point[1])
    right = sorted(by_left[2:], key=lambda point: point[1])
    return [left[0], right[0], right[1], left[1]]


def in_reading_order(rectangles):
    """Return boxes from top to bottom, those of one line from left to right."""
    lines = []
    for box in sorted(rectangles, key=lambda box: box[0][1]):
        height = math.dist(box[0], box[3])
        if lines and box[0][1] - lines[-1][0][0][1] < height / 2:
            lines[-1].append(box)
        else:
            lines.append([box])
    return [box for line in lines for box in sorted(line)]


def text_of(classes, shares, characters):
    """Return the text of a line and how sure it is.

    A recogniser names a class for each column: the same one several times is one character, class 0
    none (Graves et al. 2006, "Connectionist Temporal Classification").
    """
    text, sure, last = [], [], BLANK
    for number, share in zip(classes, shares, strict=True):
        if number not in (BLANK, last):
            text.append(characters[number - 1])
            sure.append(share)
        last = number
    return "".join(text), sum(sure) / len(sure) if sure else 0.0
