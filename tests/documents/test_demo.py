"""README shows what `make demo` prints: every number that machines share is that of a training."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tools.demo import bar
from tools.page_parts import whole

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "site"
BLOCK = re.compile(r"`make demo` prints\s+something like this:\n\n```\n(.*?)^```$", re.S | re.M)
EPOCH = re.compile(r"  \[[#-]+\] epoch +(\d+)/")
MEASURED = ((r"\b\d+\.\d\d s\b", "SECONDS"), (r"localhost:\d+", "HOST"))


def form() -> dict[str, str]:
    """Return what the Iris page says before anybody changes it: epochs, seed and optimizer."""
    page = whole(SITE, "iris.html")
    fields = dict(re.findall(r'<input id="(epochs|seed)"[^>]* value="(\d+)"', page))
    found = re.search(r'<select id="optimizer">\s*<option>(\w+)', page)
    assert found
    return fields | {"optimizer": found[1]}


def plain(line: str) -> str:
    """Return a line without what differs from run to run."""
    for pattern, word in MEASURED:
        line = re.sub(pattern, word, line)
    return line


async def test_the_output_of_the_demo_is_that_of_a_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Backends of desktops train the same; README has some of the lines, in their order."""
    spec = spec_from_file_location("trainer", SITE / "trainer.py")
    assert spec and spec.loader
    trainer = module_from_spec(spec)
    spec.loader.exec_module(trainer)
    logged: list[str] = []
    monkeypatch.setattr(trainer.Messages, "log", lambda _, text: logged.extend(text.split("\n")))
    fields = form()
    epochs = int(fields["epochs"])
    wanted = {
        "source": (SITE / "iris.nnm").read_text(),
        "seed": int(fields["seed"]),
        "standardize": True,
        "hyperparameters": {"epochs": epochs, "optimizer": fields["optimizer"]},
    }
    answer = json.loads(await trainer.train(json.dumps(wanted)))
    on_webnn = [line.replace(answer["backend"], "WebNN (cpu)") for line in logged]
    on_webnn = [
        f"  {re.sub('on (numpy|onnxruntime)', 'on webnn', line).strip()}" for line in on_webnn
    ]
    losses = {epoch: loss for epoch, loss, _ in answer["epochs"]}
    accuracy = answer["accuracy"]

    found = BLOCK.search((ROOT / "README.md").read_text())
    assert found
    first, begun, *lines, tested, last, served = found[1].splitlines()
    assert re.fullmatch(
        r"training the Iris model in Chromium [\d.]+ on http://HOST/iris.html", plain(first)
    )
    assert begun == "  training in the page"
    assert tested == f"  test accuracy {100 * accuracy:.1f}%, WebNN (cpu)"
    assert plain(last) == f"test accuracy {accuracy:.4f} on WebNN (cpu) in SECONDS"
    again = "served at http://HOST/iris.html while the demo ran; to serve it again: make serve"
    assert plain(served) == again
    assert lines.count("  …") == 1
    order = [plain(line) for line in on_webnn]
    told = [plain(line) for line in lines if line != "  …" and not EPOCH.match(line)]
    assert len(told) >= 4
    assert told == [line for line in order if line in told]
    drawn = {int(at[1]): line for line in lines if (at := EPOCH.match(line))}
    assert [*drawn][-1] == epochs
    for epoch, line in drawn.items():
        assert line == f"  {bar(epoch, epochs, losses[epoch])}"
    # Seconds are those of one run.
    assert len({*re.findall(r"\d+\.\d\d s\b", found[1])}) == 1
