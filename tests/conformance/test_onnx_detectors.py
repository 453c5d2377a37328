"""Detectors as exporters write them, with suppression in the graph, compared with ONNX Runtime.

Weights are random; what counts is that numbers of boxes follow from the data, down to none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import webnnm
from tests.unit.formats.onnx_models import constant, graph, info, model, node
from webnnm.formats.onnx.messages import GraphProto, ModelProto, NodeProto, TensorProto
from webnnm.formats.onnx.writer import serialize

np = pytest.importorskip("numpy")
runtime = pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")

CLASSES, ANCHORS = 3, 2
CELLS = 8 * 8
BOXES = CELLS * ANCHORS
SCALES = (0.0, 0.1, 0.2, 0.3, 0.4, 1.0)
"""Those of the images: the larger, the more boxes."""


def weights(name: str, *shape: int, scale: float = 0.3) -> TensorProto:
    random = np.random.default_rng([3, *shape])
    return constant(name, random.normal(0, scale, shape).astype("float32"), "float32")


def numbers(**values: Any) -> list[TensorProto]:
    """Return constants: integers, or floats where a value is one."""
    return [
        constant(name, value, "float32" if "float" in np.asarray(value).dtype.name else "int64")
        for name, value in values.items()
    ]


def anchors() -> Any:
    """Return squares of two sizes around the center of each cell: x, y, width, height."""
    centers = (np.arange(8) + 0.5) / 8
    return np.array(
        [[x, y, size, size] for y in centers for x in centers for size in (0.15, 0.3)], "float32"
    )


HEADS = [
    node("f1 = Conv(image, w1, b1)", strides=[2, 2], pads=[1, 1, 1, 1]),
    node("f = Relu(f1)"),
    node("c1 = Conv(f, wc)"),
    node("c2 = Transpose(c1)", perm=[0, 2, 3, 1]),
    node("l1 = Conv(f, wl)"),
    node("l2 = Transpose(l1)", perm=[0, 2, 3, 1]),
]
"""A layer, and the scores and places of boxes for each cell."""


def ssd() -> ModelProto:
    """Softmax over classes with a background, boxes relative to anchors, the best of all classes.

    Each class is suppressed alone; then the best boxes of all are returned, as many as there are.
    """
    nodes = [
        *HEADS,
        node("c3 = Reshape(c2, rows)"),
        node("p = Softmax(c3)", axis=2),
        node("p1 = Slice(p, one, end, two)"),  # without the background
        node("scores = Transpose(p1)", perm=[0, 2, 1]),
        node("l3 = Reshape(l2, boxes4)"),
        node("lxy = Slice(l3, zero, two, two)"),
        node("lwh = Slice(l3, two, end, two)"),
        node("xy1 = Mul(lxy, awh)"),
        node("xy = Add(xy1, axy)"),
        node("wh1 = Exp(lwh)"),
        node("wh = Mul(wh1, awh)"),
        node("half = Mul(wh, h)"),
        node("low = Sub(xy, half)"),
        node("high = Add(xy, half)"),
        node("boxes = Concat(low, high)", axis=2),
        node("chosen = NonMaxSuppression(boxes, scores, most, iou, least)"),
        node("cls = Slice(chosen, one, two, one)"),
        node("index = Slice(chosen, two, end, one)"),
        node("ci = Concat(batch0, two)", axis=0),
        node("at = Gather(chosen, ci)", axis=1),
        node("transposed = Transpose(scores)", perm=[0, 2, 1]),
        node("full = Concat(at, cls)", axis=1),
        node("s = GatherND(transposed, full)"),
        node("count = Shape(s)"),
        node("k1 = Concat(count, top)", axis=0),
        node("k = ReduceMin(k1)", keepdims=1),
        node("best, order = TopK(s, k)"),
        node("i1 = Squeeze(index, one)"),
        node("i = Gather(i1, order)"),
        node("flat = Squeeze(boxes, zero)"),
        node("found = Gather(flat, i)"),
        node("l = Squeeze(cls, one)"),
        node("labels = Gather(l, order)"),
    ]
    a = anchors()
    held = [
        weights("w1", 8, 3, 3, 3),
        weights("b1", 8),
        weights("wc", ANCHORS * (CLASSES + 1), 8, 1, 1),
        weights("wl", ANCHORS * 4, 8, 1, 1, scale=0.1),
        *numbers(
            rows=[1, BOXES, CLASSES + 1],
            boxes4=[1, BOXES, 4],
            axy=a[None, :, :2],
            awh=a[None, :, 2:],
            h=0.5,
            zero=[0],
            one=[1],
            two=[2],
            batch0=[0],
            end=[9],
            most=[5],
            iou=[0.5],
            least=[0.45],
            top=[12],
        ),
    ]
    outputs = ["found", "best", "labels"]
    return model(graph(nodes, [info("image", 1, 3, 16, 16)], outputs, *held), opset=17)


def yolo() -> ModelProto:
    """Boxes around cells in pixels, each with its best class; rows of seven numbers.

    The classes share one suppression: their boxes are moved apart.
    """
    nodes = [
        *HEADS,
        node("c3 = Reshape(c2, rows)"),
        node("p = Sigmoid(c3)"),
        node("l3 = Reshape(l2, boxes4)"),
        node("l4 = Sigmoid(l3)"),
        node("lxy, lwh = Split(l4, halves)", axis=2),
        node("xy1 = Mul(lxy, cell)"),
        node("xy = Add(xy1, grid)"),
        node("wh1 = Mul(lwh, lwh)"),
        node("wh = Mul(wh1, sizes)"),
        node("centered = Concat(xy, wh)", axis=2),
        node("best = ReduceMax(p)", axes=[2], keepdims=1),
        node("label1 = ArgMax(p)", axis=2, keepdims=1),
        node("label = Cast(label1)", to=1),
        node("away = Mul(label, far)"),
        node("nothing = Mul(wh, none)"),
        node("shift1 = Add(nothing, away)"),
        node("shift = Concat(shift1, nothing)", axis=2),
        node("moved = Add(centered, shift)"),
        node("scores = Transpose(best)", perm=[0, 2, 1]),
        node("chosen = NonMaxSuppression(moved, scores, most, iou, least)", center_point_box=1),
        node("image_of1 = Slice(chosen, zero, one, one)"),
        node("image_of = Cast(image_of1)", to=1),
        node("at = Gather(chosen, ends)", axis=1),
        node("box = GatherND(centered, at)"),
        node("score = GatherND(best, at)"),
        node("class = GatherND(label, at)"),
        node("detections = Concat(image_of, box, class, score)", axis=1),
    ]
    a = anchors() * 16
    held = [
        weights("w1", 8, 3, 3, 3),
        weights("b1", 8),
        weights("wc", ANCHORS * CLASSES, 8, 1, 1),
        weights("wl", ANCHORS * 4, 8, 1, 1),
        *numbers(
            rows=[-1, BOXES, CLASSES],
            boxes4=[-1, BOXES, 4],
            halves=[2, 2],
            cell=2.0,
            grid=a[None, :, :2] - 1,
            sizes=a[None, :, 2:] * 4,
            far=4096.0,
            none=0.0,
            zero=[0],
            one=[1],
            ends=[0, 2],
            most=[8],
            iou=[0.45],
            least=[0.6],
        ),
    ]
    return model(graph(nodes, [info("image", "batch", 3, 16, 16)], ["detections"], *held), opset=17)


def suppress() -> tuple[GraphProto, GraphProto]:
    """Return the branches of a condition: without boxes nothing is suppressed."""
    moved = [
        node("largest = ReduceMax(clipped)", keepdims=0),
        node("step = Add(largest, unit)"),
        node("label_f = Cast(label)", to=1),
        node("offset = Mul(label_f, step)"),
        node("column = Unsqueeze(offset, one)"),
        node("moved = Add(clipped, column)"),
        node("boxes1 = Unsqueeze(moved, zero)"),
        node("s1 = Unsqueeze(score, zero)"),
        node("s2 = Unsqueeze(s1, zero)"),
        node("chosen = NonMaxSuppression(boxes1, s2, most, iou)"),
        node("last = Slice(chosen, two, end, one)"),
        node("some = Squeeze(last, one)"),
    ]
    nothing = [node("no = ConstantOfShape(zero)", value=constant("", [0]))]
    return graph(nothing, [], ["no"]), graph(moved, [], ["some"])


def retina() -> ModelProto:
    """Boxes whose score exceeds a threshold, of those the best, decoded, clipped and suppressed."""
    empty, some = suppress()
    decoded: list[NodeProto] = [
        node("index = Div(position, classes)"),
        node("label = Mod(position, classes)"),
        node("l3 = Reshape(l2, boxes4)"),
        node("deltas = Gather(l3, index)", axis=0),
        node("anchors = Gather(all_anchors, index)", axis=0),
        node("dxy, dwh = Split(deltas, halves)", axis=1),
        node("axy, awh = Split(anchors, halves)", axis=1),
        node("xy1 = Mul(dxy, awh)"),
        node("xy = Add(xy1, axy)"),
        node("dwh1 = Clip(dwh, , limit)"),
        node("wh1 = Exp(dwh1)"),
        node("wh2 = Mul(wh1, awh)"),
        node("wh = Mul(wh2, h)"),
        node("low = Sub(xy, wh)"),
        node("high = Add(xy, wh)"),
        node("corners = Concat(low, high)", axis=1),
        node("clipped = Clip(corners, low_edge, high_edge)"),
    ]
    nodes = [
        *HEADS,
        node("c3 = Reshape(c2, all)"),
        node("p = Sigmoid(c3)"),
        node("above = Greater(p, threshold)"),
        node("where1 = NonZero(above)"),
        node("where = Squeeze(where1, zero)"),
        node("candidates = Gather(p, where)"),
        node("count = Shape(candidates)"),
        node("k1 = Concat(count, top)", axis=0),
        node("k = ReduceMin(k1)", keepdims=1),
        node("score, order = TopK(candidates, k)"),
        node("position = Gather(where, order)"),
        *decoded,
        node("amount = Size(clipped)"),
        node("is_empty = Equal(amount, nothing)"),
        node("kept = If(is_empty)", then_branch=empty, else_branch=some),
        node("first = Slice(kept, zero, top_kept, zero)"),
        node("boxes = Gather(clipped, first)", axis=0),
        node("scores = Gather(score, first)"),
        node("labels = Gather(label, first)"),
    ]
    held = [
        weights("w1", 8, 3, 3, 3),
        weights("b1", 8),
        weights("wc", ANCHORS * CLASSES, 8, 1, 1),
        weights("wl", ANCHORS * 4, 8, 1, 1, scale=0.1),
        *numbers(
            all=[-1],
            boxes4=[BOXES, 4],
            classes=CLASSES,
            all_anchors=anchors() * 16,
            halves=[2, 2],
            limit=4.1,
            h=0.5,
            low_edge=0.0,
            high_edge=16.0,
            threshold=0.62,
            top=[40],
            top_kept=[9],
            nothing=0,
            unit=1.0,
            zero=[0],
            one=[1],
            two=[2],
            end=[9],
            most=[1000],
            iou=[0.5],
        ),
    ]
    outputs = ["boxes", "scores", "labels"]
    return model(graph(nodes, [info("image", 1, 3, 16, 16)], outputs, *held), opset=17)


DETECTORS: Mapping[str, Callable[[], ModelProto]] = {"ssd": ssd, "yolo": yolo, "retina": retina}


def compute_expected(of: ModelProto, image: Any) -> dict[str, Any]:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(serialize(of), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"image": image}), strict=True))


@pytest.mark.parametrize("backend", ["numpy", "onnxruntime"])
@pytest.mark.parametrize("name", DETECTORS)
async def test_boxes_are_those_of_onnx_runtime(name: str, backend: str) -> None:
    detector = DETECTORS[name]()
    detector.ir_version = 8
    for output in (detector.graph or GraphProto()).output:  # ONNX Runtime infers their types
        output.type = None
    batch = 2 if name == "yolo" else 1
    random = np.random.default_rng(5)
    images = [random.normal(0, scale, (batch, 3, 16, 16)) for scale in SCALES]
    counts: list[int] = []
    async with await webnnm.load_onnx(serialize(detector), backend=backend) as net:
        for values in images:
            image = values.astype("float32")
            expected = compute_expected(detector, image)
            results = await net.predict({"image": image})
            assert results.keys() == expected.keys()
            for key, value in expected.items():
                result = np.asarray(results[key])
                assert result.shape == value.shape
                np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4)
            counts.append(len(next(iter(expected.values()))))
    assert len(set(counts)) > 2 and max(counts) > 4
