"""What the expert system found before and in a training, as #review shows it."""

import json

from page import element, log, make, percent, sentence, table
from pyscript import when, window

SEVERITIES = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "advice": ("advice", "pieces of advice"),
    "info": ("note", "notes"),
}
"""What one of them is called, and more of them; the most serious first."""

AFTERWARDS = "Training"
"""The area of what happened in a training; all others are of the review before it."""

MAX_FINDINGS = 3
"""So many findings stand at the top of a list, beside all errors; the others are folded up."""

UNINFORMED = "times that of a prediction that knows nothing of the inputs"
"""What the search for a seed measures losses by."""

EXPLANATIONS = {}
"""What rules.json says of each rule, once somebody has asked for it."""


def show(review, editor, remedies=None):
    """Show the findings that matter most, the others folded, and where settings came from.

    A review that no training has followed yet has `findings` alone. `remedies` says by rule what a
    page has for what its remedy asks for.
    """
    before, after = [], []
    for finding in sorted(replace_remedies(review["findings"], remedies or {}), key=rank):
        (after if finding["area"] == AFTERWARDS else before).append(finding)
    element("review-summary").textContent = summary(before)
    element("findings").replaceChildren(*make_lists(before, editor))
    element("review").hidden = False
    trained = "settings" in review
    element("scouting").hidden = element("settings").parentElement.hidden = not trained
    element("happened").hidden = not trained or not review["ended"]
    if not trained:
        return
    element("happened-summary").textContent = summary(after)
    element("happened-findings").replaceChildren(*make_lists(after, editor))
    element("scouting").textContent = describe_scouting(review["scouting"])
    # What somebody decided comes first, plain defaults last.
    settings = sorted(review["settings"], key=lambda setting: setting[2] == "default")
    rows = [[name, format_value(value), origin] for name, value, origin in settings]
    settings_table = table("Settings of this training", ["Setting", "Value", "From"], rows)
    settings_table.classList.add("settings")
    element("settings").replaceChildren(settings_table)


def replace_remedies(findings, remedies):
    """Return findings, with what to press in a page as the remedies that it has by rule."""
    return [
        finding | {"remedy": remedies[finding["id"]]}
        if finding["remedy"] and finding["id"] in remedies
        else finding
        for finding in findings
    ]


def rank(finding):
    """Return what findings are sorted by: the most serious first, then the surest."""
    return [*SEVERITIES].index(finding["severity"]), -finding["confidence"], finding["id"]


def summary(findings):
    """Return how many findings there are of each severity, as a sentence."""
    severities = [finding["severity"] for finding in findings]
    counts = []
    for severity, (one, more) in SEVERITIES.items():
        if number := severities.count(severity):
            counts.append(f"{number} {one if number == 1 else more}")
    return sentence(", ".join(counts) or "nothing")


def make_lists(findings, editor):
    """Return a list of the findings that matter, and a folded one of the others by area."""
    first, others = [], []
    for finding in findings:
        matters = finding["severity"] == "error" or len(first) < MAX_FINDINGS
        tells = finding["severity"] != "info" or finding["explained_by"]
        (first if matters and tells else others).append(finding)
    lists = [items(first, editor)] if first else []
    if others:
        areas = {}
        for finding in others:
            areas.setdefault(finding["area"], []).append(finding)
        folded, box = make("details", class_="others"), make("div", class_="areas")
        box.append(*(group(*area, editor) for area in areas.items()))
        folded.append(make("summary", f"Also: {summary(others)}" if first else "Show them"), box)
        lists.append(folded)
    return lists


def group(area, findings, editor):
    """Return the findings of one area under its name."""
    box = make("div", class_="area")
    box.append(make("p", area, class_="name"), items(findings, editor))
    return box


def items(findings, editor):
    """Return a list of findings."""
    list_ = make("ul", class_="findings")
    list_.append(*(item(finding, editor) for finding in findings))
    return list_


def item(finding, editor):
    """Return one finding: message, how sure it is, its place, what was done, what to do, why."""
    severity = finding["severity"]
    box, head = make("li", class_=f"finding {severity}"), make("p")
    name = make("strong", SEVERITIES[severity][0].capitalize())
    head.append(name, f": {finding['message']}. ")
    if finding["places"]:
        head.append(editor.place(*finding["places"][0]))
    box.append(head)
    if finding["action"]:
        box.append(make("p", f"Done: {finding['action']}", class_="fine"))
    if finding["explained_by"]:
        causes = ", ".join(finding["explained_by"])
        box.append(make("p", f"Probably because of {causes}, above.", class_="cause"))
    # What only informs, and was seen to, asks for nothing.
    elif finding["remedy"] and not (severity == "info" and finding["action"]):
        box.append(make("p", f"To do: {finding['remedy']}", class_="remedy"))
    if finding["explains"]:
        symptoms = ", ".join(finding["explains"])
        box.append(make("p", f"It explains {symptoms}.", class_="fine"))
    box.append(why(finding))
    return box


def why(finding):
    """Return the id of a finding and how sure it is, which unfold to what is known of its rule."""
    details, head = make("details", class_="why"), make("summary")
    head.append("Why ", make("small", finding["id"]))
    if finding["severity"] != "info":
        head.append(f" · {describe_confidence(finding['confidence'])}")
    details.append(head)

    async def explain(event):
        if details.open and details.childElementCount == 1:
            details.append(*await fetch_explanation(finding["id"]))

    when("toggle", details)(explain)
    return details


def describe_confidence(confidence):
    """Say how likely it is that a finding costs accuracy or time."""
    likelihood = (
        "almost sure" if confidence >= 0.9 else "likely" if confidence >= 0.7 else "possible"
    )
    return f"{likelihood} ({percent(confidence)})"


async def fetch_explanation(rule):
    """Return what a rule looks at, why, and when to ignore it, in paragraphs."""
    if not EXPLANATIONS:
        try:
            answer = await window.fetch("./rules.json")
            EXPLANATIONS.update(json.loads(await answer.text()))
        except Exception as error:
            log(f"rules.json cannot be read: {error}")
            return [make("p", "The explanations cannot be read now: there is no connection.")]
    return [make("p", text) for text in EXPLANATIONS[rule]]


def describe_scouting(start):
    """Say which seed the search chose."""
    if not start:
        return "No scouting: the training began at the parameters that were there."
    if start["starts"] == 1:
        return (
            f"Before the training the loss was {start['loss']:.3f} {UNINFORMED}, and at most "
            f"{percent(start['dead'])} of a layer's units were dead."
        )
    return (
        f"The search tried {start['starts']} seeds and chose number {start['number']}: its loss "
        f"was {start['loss']:.3f} {UNINFORMED}, after three trial steps {start['delta']:.3f}; "
        f"at most {percent(start['dead'])} of a layer's units are dead."
    )


def format_value(value):
    """Return a value of a setting as text."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)
