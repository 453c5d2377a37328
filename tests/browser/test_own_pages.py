"""Pages of users: written by the released wheel into an empty folder, served, visited twice."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error

from tests.browser.accessibility import violations
from tests.browser.site_pages import HOLD_QUIET, WATCH_POLICY, leave_alone
from tools import release
from tools.common import ROOT, VENV_PYTHON, inside
from tools.release import Release
from webnnm import (
    ImageDataset,
    NNModel,
    SoundDataset,
    TableDataset,
    TextDataset,
    encode_wav,
)

ASK = "async (row) => (await document.querySelector('webnnm-model').predict(row)).label"
MISSING = """async () => {
  const model = document.querySelector("webnnm-model");
  const ask = (row) => model.predict(row).then(({ label }) => label, ({ message }) => message);
  const rows = { area: [], city: [] };
  for (const missing of [null, undefined, ""]) {
    rows.area.push(await ask({ area: missing, city: "Bonn" }));
    rows.city.push(await ask({ area: 110, city: missing }));
  }
  return rows;
}"""
WHITE = """() => {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas.toDataURL().split(",")[1];
}"""
BLOCK = re.compile(r"(<!-- not run[^\n]*-->\n)?```(python|html|js)\n(.*?)```", re.S)
"""A block of a document: what says that it is not run, its language, its text."""
TRAINED = re.compile(r"training on WebNN \(cpu\).*test accuracy (\S+)\n.*: setosa 9\d", re.S)


@pytest.fixture(scope="module")
def released() -> Release:
    """The files of a release; they are built where something in them has changed."""
    return release.build()


@pytest.fixture(scope="module")
def installed(released: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which pip has installed the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [str(VENV_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    flags = ["--no-deps", "--no-index", "--target", str(folder), str(released.wheel)]
    subprocess.run([*pip, *flags], check=True, env={**inside(), **os.environ})
    return folder


class User:
    """Somebody who has the wheel, and no checkout."""

    def __init__(self, installed: Path, home: Path) -> None:
        self.home = home
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(installed),
            "XDG_CACHE_HOME": str(home / "cache"),
            "HOME": str(home),
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "webnnm", *words]

    def run(self, *words: str) -> str:
        """Run the program to its end, which has to be a good one; return what it prints."""
        ended = subprocess.run(
            self.command(*words),
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    @contextmanager
    def serving(self, folder: str) -> Iterator[str]:
        """Serve a folder as a user does; yield its address."""
        command = self.command("serve", folder, "--port", "0", "--json")
        environment = self.environment
        with subprocess.Popen(
            command, cwd=self.home, env=environment, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            try:
                yield json.loads(server.stdout.readline())["url"]
            finally:
                server.terminate()


@pytest.fixture
def user(installed: Path, tmp_path: Path) -> User:
    return User(installed, tmp_path)


@pytest.fixture(autouse=True)
async def watched(visitor: Any) -> None:
    """Has the visitor's page note what its policy refuses, and hold the end of its quiet time."""
    visitor.set_default_timeout(30_000)
    for script in (WATCH_POLICY, HOLD_QUIET):
        await visitor.add_init_script(script)


@pytest.fixture
def flats(tmp_path: Path) -> str:
    """A snapshot of a model that knows from area and city whether a flat is dear."""
    table = {
        "area": [30, 60, 90, 120] * 10,
        "city": ["Ulm", "Bonn"] * 20,
        "price": ["low", "low", "high", "high"] * 10,
    }
    dataset = TableDataset(table, label="price", standardize=["area"])
    source = "m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    return snapshot(tmp_path / "flats.safetensors", source, dataset)


def snapshot(path: Path, source: str, dataset: Any = None, epochs: int = 200) -> str:
    """Save a model, trained if it has a dataset; return where."""

    async def save() -> str:
        settings: dict[str, Any] = {"backend": "numpy", "seed": 0, "log": str}
        model = await NNModel.create(source=source, dataset=dataset, **settings)
        if dataset is not None:
            await model.train(epochs=epochs, progress="off")
        return str(await model.save(path))

    return asyncio.run(save())


@pytest.mark.parametrize("kind", ["pyscript", "worker"])
async def test_a_new_page_trains_with_and_then_without_a_network(
    user: User, released: Release, visitor: Any, kind: str
) -> None:
    user.run("new", "page", "--kind", kind, "--runtime", str(released.runtime))
    answer = visitor.locator("#answer", has_text="setosa")
    with user.serving("page") as url:
        sent = await visitor.goto(url)
        policy = sent.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "inline" not in policy
        assert ("'unsafe-eval'" in policy) == (kind == "pyscript")
        await answer.wait_for()
        told = TRAINED.search(await answer.text_content())
        assert told is not None and float(told[1]) >= 0.8
        await leave_alone(visitor)
        assert await violations(visitor) == []
        assert await visitor.evaluate("refused") == []
        # What the user changes is there offline, too, once it was seen.
        main = user.home / "page" / "main.py"
        main.write_text(main.read_text().replace("test accuracy", "accuracy now"))
        await visitor.reload()
        await visitor.locator("#answer", has_text="accuracy now").wait_for()
    # The server is gone.
    await visitor.reload()
    await answer.wait_for()
    assert "accuracy now" in await answer.text_content()
    assert await visitor.evaluate("refused") == []


async def test_the_page_at_the_end_of_the_tutorial_answers(
    user: User, released: Release, visitor: Any
) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    programs = [text for skipped, language, text in blocks if language == "python" and not skipped]
    ((_, _, html),) = [block for block in blocks if block[1] == "html"]
    ((_, _, script),) = [block for block in blocks if block[1] == "js"]
    user.run("new", "iris", "--runtime", str(released.runtime))
    page = user.home / "iris"
    last = "str((await again.predict([5.9, 3.0, 4.2, 1.5])).classes)"
    (page / "own.html").write_text(html)
    (page / "start.js").write_text(script)
    (page / "program.py").write_text("\n".join([*programs, last]))
    with user.serving("iris") as url:
        await visitor.goto(f"{url}/own.html")
        await visitor.locator("#answer", has_text="['versicolor']").wait_for()
    assert await visitor.evaluate("refused") == []


async def test_a_saved_model_answers_with_and_then_without_a_network(
    user: User, released: Release, visitor: Any, flats: str
) -> None:
    given = ["--kind", "element", "--model", flats, "--runtime", str(released.runtime)]
    user.run("new", "page", *given)
    area, city = visitor.get_by_label("area"), visitor.get_by_label("city")
    best = visitor.locator("webnnm-model li").first
    with user.serving("page") as url:
        await visitor.goto(url)
        assert await area.input_value() == "75"  # the mean
        await area.fill("40")
        await city.select_option("Ulm")
        await city.press("Tab")
        await visitor.keyboard.press("Enter")
        await best.filter(has_text="low").wait_for()
        assert await violations(visitor) == []
        assert await visitor.evaluate(ASK, {"area": 110, "city": "Bonn"}) == "high"
        told = await visitor.evaluate(MISSING)
        assert len(set(told["area"])) == len(set(told["city"])) == 1, told
        # What does not fit is told, without a traceback.
        with pytest.raises(Error, match=r"Error: NNM710: .*city"):
            await visitor.evaluate(ASK, {"area": 110})
        assert await visitor.evaluate("refused") == []
        await leave_alone(visitor)
    # The server is gone.
    await visitor.reload()
    await area.fill("115")
    await area.press("Enter")
    await best.filter(has_text="high").wait_for()
    assert await visitor.evaluate("refused") == []


ELEMENTS = """
<!doctype html><html lang="en"><meta charset="utf-8"><title>Models</title>
<script type="module" src="./vendor/webnnm/page/model-element.js"></script>
<main>
<h1>Models</h1>
<webnnm-model id="light" src="./light.safetensors" controls></webnnm-model>
<webnnm-model id="sums" src="./sums.safetensors" controls></webnnm-model>
<webnnm-model id="turned" src="./turned.safetensors" controls></webnnm-model>
<webnnm-model id="letters" src="./letters.safetensors" controls></webnnm-model>
<webnnm-model id="pitch" src="./pitch.safetensors" controls></webnnm-model>
<webnnm-model id="none" src="./index.html" controls></webnnm-model>
<webnnm-model id="missing" src="./missing.safetensors" controls></webnnm-model>
</main>
"""
LIGHT = (
    "m:input shape=[4, 4]; m:output shape=[2]; m:layers flatten(), matmul(w), add(b), softmax();"
)
SUMS = """
a:input shape=[2]; b:input shape=[2]; sum:output shape=[2]; gap:output shape=[2];
sum:layers add([a, b]); gap:layers sub([a, b]);
"""
TURNED = "m:input shape=[2, 2]; m:output shape=[2, 2]; m:layers transpose();"
PITCH = """
m:input shape=[800]; m:output shape=[2];
m:layers
  logMel(bands=8, window=200, hop=160, rate=8000), reduceMean(axes=[0]),
  matmul(w), add(b), softmax();
"""
LETTERS = """
m:input int32 shape=[] sequence=letters; m:output shape=[3] sequence=letters;
m:layers embedding(e, size=3, shape=[3]), softmax();
"""


async def test_elements_ask_for_what_their_models_take(
    user: User, released: Release, visitor: Any, flats: str
) -> None:
    given = ["--kind", "element", "--model", flats, "--runtime", str(released.runtime)]
    user.run("new", "page", *given)
    folder = user.home / "page"
    (folder / "index.html").write_text(ELEMENTS)
    pictures = ImageDataset(
        bytes(16) + b"\xff" * 16, ["dark", "light"], shape=(4, 4), split=(1, 0, 0)
    )
    texts = TextDataset("abcabcabcabcabcabc", 3, split=(1, 0, 0))
    await asyncio.to_thread(snapshot, folder / "light.safetensors", LIGHT, pictures)
    await asyncio.to_thread(snapshot, folder / "letters.safetensors", LETTERS, texts)
    await asyncio.to_thread(snapshot, folder / "sums.safetensors", SUMS)
    low, high = (
        [math.sin(2 * math.pi * hertz * n / 8000) / 2 for n in range(800)] for hertz in (300, 2000)
    )
    sounds = SoundDataset([low, high], ["hum", "whistle"], rate=8000, split=(1, 0, 0))
    await asyncio.to_thread(snapshot, folder / "pitch.safetensors", PITCH, sounds)
    await asyncio.to_thread(snapshot, folder / "turned.safetensors", TURNED)

    async def answer(element: str) -> str:
        asked = visitor.locator(element)
        await asked.get_by_role("button", name="Predict").click()
        said = asked.locator("form div[role=status]")
        await said.locator("p, li").first.wait_for()
        return await said.inner_text()

    with user.serving("page") as url:
        await visitor.goto(url)
        png = base64.b64decode(await visitor.evaluate(WHITE))
        picture = {"name": "white.png", "mimeType": "image/png", "buffer": png}
        await visitor.get_by_label("Picture", exact=True).set_input_files(picture)
        assert (await answer("#light")).startswith("light")

        wav = encode_wav([0.0] * 500 + high, 8000)
        sound = {"name": "high.wav", "mimeType": "audio/wav", "buffer": wav}
        await visitor.get_by_label("Sound", exact=True).set_input_files(sound)
        assert (await answer("#pitch")).startswith("whistle")

        for label, number in {"a 1": 1, "a 2": 2, "b 1": 0.1, "b 2": -4}.items():
            await visitor.get_by_label(label).fill(str(number))
        assert await answer("#sums") == "sum\n\n1.1, -2\n\ngap\n\n0.9, 6"

        await visitor.get_by_label("Numbers, 2 × 2").fill("[[1, 2], [3, 4]]")
        assert await answer("#turned") == "1, 3, 2, 4"
        await visitor.get_by_label("Numbers, 2 × 2").fill("[[1, 2], [3")
        await visitor.locator("#turned button").click()
        await visitor.get_by_text('"[[1, 2], [3" is no list of numbers').wait_for()

        await visitor.get_by_label("Text").fill("abca")
        assert await answer("#letters") == "bcab"

        await visitor.locator("#none", has_text="NNM802").wait_for()
        await visitor.locator("#missing", has_text="cannot be fetched: 404").wait_for()
        assert await violations(visitor) == []
        assert await visitor.evaluate("refused") == []
