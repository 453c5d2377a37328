"""Sounds of any length are the same for models in exported pages as on desktops."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest

from webnnm import NNModel, SoundDataset, encode_wav, suggest_sound_model
from webnnm.cli.serve import SiteServer
from webnnm.formats.page.exporting import export_page

EXPORTED = """async ([files, engine]) => {
  const { openModel } = await import("./webnnm/inference/model.js");
  const model = await openModel("./model.json", engine);
  const answers = [];
  for (const text of files) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    answers.push((await model.predict(new Blob([bytes]))).m.probabilities);
  }
  const bad = await model.predict(new Blob(["none"])).catch(({ message }) => message);
  model.close();
  return [...answers, bad];
}"""


@pytest.mark.webnn
async def test_exported_pages_take_files(tmp_path: Path, webnn_context: Any, page_log: Any) -> None:
    draw, rate = random.Random(0), 8000
    lengths = (1000, 2000, 3500)
    sounds = [[draw.uniform(-0.9, 0.9) * n / size for n in range(size)] for size in lengths]
    files = [encode_wav(sound, rate) for sound in sounds]
    data = await SoundDataset.from_files(
        files, ["a", "b", "a"], rate=rate, seconds=0.25, split=(1, 0, 0)
    )
    model = await NNModel.create(
        source=suggest_sound_model(data, "m"),
        dataset=data,
        seed=2,
        backend="numpy",
        log=lambda _: None,
    )
    await export_page(model.state, tmp_path / "page", None)
    expected = [(await model.predict(content)).tolist()[0] for content in files]
    page = await webnn_context.new_page()
    page_log.watch(page)
    texts = [base64.b64encode(content).decode() for content in files]
    with SiteServer(tmp_path / "page") as server:
        await page.goto(server.url)
        for engine in ("webnn", "script"):
            *answers, bad = await page.evaluate(EXPORTED, [texts, engine])
            for actual, right in zip(answers, expected, strict=True):
                assert actual == pytest.approx(right, rel=1e-3, abs=1e-4)
            assert bad.startswith('NNM801: input "m"')
        field = page.locator("webnnm-model input[type=file]")
        await field.set_input_files({"name": "a.wav", "mimeType": "audio/wav", "buffer": files[0]})
        await page.locator("webnnm-model").get_by_role("button", name="Predict").click()
        await page.locator("webnnm-model form .whole[role=status] :is(p, li)").first.wait_for()
    await page.close()
