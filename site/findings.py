"""What the review of a training found, as #review shows it."""

import json

from page import element, make, sentence, table

SEVERITIES = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "advice": ("advice", "pieces of advice"),
    "info": ("note", "notes"),
}
"""What one of them is called, and more of them; the most serious first."""


def show(review, editor):
    """Show findings by area, the chosen start, and where every setting came from."""
    findings = review["findings"]
    element("review-summary").textContent = summary(findings)
    areas = {}
    order = list(SEVERITIES)
    for finding in sorted(findings, key=lambda found: order.index(found["severity"])):
        areas.setdefault(finding.get("area", "Stability"), []).append(finding)
    element("findings").replaceChildren(*(group(*each, editor) for each in areas.items()))
    element("scouting").textContent = scouted(review["scouting"])
    # What somebody decided comes first, plain defaults last.
    settings = sorted(review["settings"], key=lambda setting: setting[2] == "default")
    rows = [[name, written(value), origin] for name, value, origin in settings]
    made = table("Settings of this training", ["Setting", "Value", "From"], rows)
    made.classList.add("settings")
    element("settings").replaceChildren(made)
    element("review").hidden = False


def summary(findings):
    """Return how many findings there are of each severity, as a sentence."""
    found = [finding["severity"] for finding in findings]
    counts = []
    for severity, (one, more) in SEVERITIES.items():
        if number := found.count(severity):
            counts.append(f"{number} {one if number == 1 else more}")
    return sentence(", ".join(counts) or "nothing")


def group(area, findings, editor):
    """Return the findings of one area under its name."""
    box, items = make("div", class_="area"), make("ul")
    for finding in findings:
        items.append(item(finding, editor))
    box.append(make("h3", area), items)
    return box


def item(finding, editor):
    """Return one finding: severity, message, place in the text, what was done, what to do."""
    severity = finding["severity"]
    made, head = make("li", class_=f"finding {severity}"), make("p")
    word = make("strong", SEVERITIES[severity][0].capitalize())
    head.append(word, f": {finding['message']}. ")
    if finding.get("places"):
        head.append(editor.place(*finding["places"][0]), " ")
    head.append(make("small", finding["id"]))
    made.append(head)
    if finding.get("action"):
        made.append(make("p", f"Done: {finding['action']}", class_="fine"))
    # What only informs, and was seen to, asks for nothing.
    if finding.get("remedy") and not (severity == "info" and finding.get("action")):
        made.append(make("p", f"To do: {finding['remedy']}"))
    return made


def scouted(start):
    """Say which seed the search chose."""
    if not start:
        return "No scouting: the training began at the parameters that were there."
    if start["starts"] == 1:
        return (
            f"Before the training the loss was {start['loss']:.3f}, and {start['dead']:.0%} of a "
            "layer's units were dead at most."
        )
    return (
        f"The search tried {start['starts']} seeds and took number {start['number']}: loss "
        f"{start['loss']:.3f}, after three trial steps {start['delta']:.3f}; "
        f"{start['dead']:.0%} of a layer's units dead at most."
    )


def written(value):
    """Return a value of a setting as text."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)
