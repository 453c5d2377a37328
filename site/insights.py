"""The charts of a closer look: of a training, a test and a model. Knows no page."""

import json
from types import SimpleNamespace

DISTRIBUTIONS = {
    "Weights": "How many weights of each parameter have which value.",
    "Activations": "Which values each layer gives for some rows of the training.",
    "Gradients": "Which way each weight should go, and how far, for the same rows.",
}
"""What is charted of the layers: a bar for values now, or a column for each epoch looked at."""
MAX_EPOCHS = 400
"""Epochs that are drawn."""


def course(records):
    """Return the charts of the epochs of a training, which grow while it goes on."""
    if not records:
        return []
    from webnnm import charts

    history = SimpleNamespace(epochs=thin_out(records))
    entries = []
    if any(record.val_metrics for record in records):
        about = "What validation measured after each epoch."
        entries.append(make_entry("Metrics", about, charts.metrics(history)))
    about = "How far a step goes along the gradient; the schedule changes it."
    entries.append(make_entry("Learning rate", about, charts.learning_rate(history)))
    if any(record.grad_norm is not None for record in records):
        about = (
            "The mean length of the gradient. One that is longer than the clipping norm is "
            "shortened to it before the step."
        )
        entries.append(make_entry("Gradient norm", about, charts.gradient_norm(history)))
    return entries


def thin_out(records):
    """Return at most 400 of the records, evenly spread, with the last one."""
    thin = records[:: -(-len(records) // MAX_EPOCHS) or 1]
    return thin + (records[-1:] if thin[-1:] != records[-1:] else [])


def answers(labels, classes, shares, bins):
    """Return the charts of how a model does in its test.

    - `labels`: the names of the classes; `classes`: the class of each row.
    - `shares`: for each row the probability of each class, or that of the second of two.
    - `bins`: the calibration of the test.
    """
    from webnnm import charts

    several = {number for number in range(len(labels)) if number in classes}
    # Of two classes one is the other upside down.
    drawn = [number for number in several if len(labels) > 2 or number == 1]
    entries = []
    if len(several) > 1:
        columns = list(zip(*shares, strict=True))
        scores = {labels[number]: columns[number - len(labels)] for number in drawn}
        actual = {labels[number]: [own == number for own in classes] for number in drawn}
        about = (
            "The share of the rows of a class that are found, over the share of other rows that "
            "are taken for it, at every threshold of the probability. The dotted line is guessing."
        )
        entries.append(make_entry("ROC", about, charts.roc_curve(scores, actual)))
    about = (
        "How often the model is right, over how sure it is. Below the dotted line it is too sure, "
        "above it too cautious."
    )
    return [*entries, make_entry("Calibration", about, charts.calibration_curve(bins))]


def layers(looks):
    """Return the charts of what passed through the layers, over the epochs that were looked at.

    `looks` is what `NNModel.inspect` found by epoch; a single one is not a course yet.
    """
    if not looks:
        return []
    from webnnm import charts

    entries = []
    for name, about in DISTRIBUTIONS.items():
        shots = {epoch: getattr(look, name.lower()) for epoch, look in looks.items()}
        last = shots[max(shots)]
        if last:
            chart = charts.histograms(shots if len(shots) > 1 else last)
            entries.append(make_entry(name, about, chart))
    return entries


def pictures(model, look):
    """Return the charts of convolutions: the filters that see pictures, and what they make of one.

    `look` is what `inspect_model` found.
    """
    from webnnm import charts
    from webnnm.graph.elaboration.vertices import InputVertex, ParameterVertex

    entries = []
    for layer in model.state.network.order:
        if layer.operator.name != "conv2d":
            continue
        sees, filters = (source.vertex for source in layer.operands[:2])
        if isinstance(sees, InputVertex) and isinstance(filters, ParameterVertex):
            about = "Where the colour of a filter is strong, a pixel counts; each colour is a sign."
            weights = look.weights[filters.name]
            chart = charts.filters(weights, layout=layer.options["filter_layout"])
            entries.append(make_entry(f"Filters of {layer.label}", about, chart))
        about = "Where in a picture of the training each channel of the layer is active."
        # "nchw" or "nhwc", by the names of the dimensions: channels, height, width.
        layout = "n" + "".join(name[0] for name in layer.features[0].names)
        chart = charts.feature_maps(look.activations[layer.label], layout=layout)
        entries.append(make_entry(f"Feature maps of {layer.label}", about, chart))
    return entries


def make_entry(name, about, chart):
    """Return a chart for a page: what it is called, what it says, and what it draws."""
    rows = chart.spec["data"]["values"] if chart.spec.get("data", {}).get("name") == "epochs" else 0
    return {
        "name": name,
        "about": about,
        "chart": chart.to_page(),
        "words": chart.description,
        "rows": json.dumps(rows) if rows else "",
    }
