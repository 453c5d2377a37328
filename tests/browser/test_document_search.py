"""The search of the documentation site finds what engineers ask, by the words that they use."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.projects("webnn")

SOUGHT = {
    "fallback": "browsers.html#what-falls-back-to-what",
    "webgpu": "faq.html#does-it-use-the-gpu-how-do-i-see-the-device",
    "webnn flag": "backends.html#webnn-in-browsers",
    "browser support": "browsers.html#which-browsers-have-webnn",
    "device npu": "backends.html#choose-a-device-cpu-gpu-or-npu",
    "out of memory": "training.html#memory",
    "dispose": "faq.html#memory-grows-from-run-to-run",
    "early stopping": "training.html#early-stopping-and-the-best-model",
    "save best model": "training.html#early-stopping-and-the-best-model",
    "callbacks": "training.html#callbacks-and-logged-metrics",
    "class weights": "training.html#imbalanced-classes-class-weights",
    "random seed": "training.html#the-random-seed",
    "loss nan": "faq.html#the-loss-is-nan",
    "accuracy stuck": "faq.html#the-accuracy-stays-at-chance",
    "react": "frameworks.html",
    "vite": "frameworks.html",
    "web worker": "own-page.html#a-worker",
    "first prediction slow": "faq.html#the-first-prediction-is-slow",
    "offline": "deploying.html#offline-use",
    "cache": "hosting.html#caching-and-offline-use",
    "github pages": "hosting.html#github-pages",
    "cors": "hosting.html#models-on-another-host",
    "download size": "hosting.html#what-a-visit-downloads",
    "no module named": "faq.html#no-module-named-webnnm-or-numpy",
    "micropip": "own-page.html#install-with-micropip",
    "sharedarraybuffer": "faq.html#sharedarraybuffer-coop-and-coep",
    "content security policy": "deploying.html#content-security-policy",
    "iphone safari": "faq.html#out-of-memory-or-the-tab-crashes",
    "quantize": "quantization.html",
    "indexeddb": "keeping-models.html#in-a-browser",
    "dynamic batch": "exporting.html#onnx-files-and-dynamic-batch-sizes",
    "convert pytorch": "foreign-weights.html",
    "transfer learning": "transfer-learning.html",
    "fine-tune": "fine-tuning.html",
    "custom loss": "training.html#custom-losses",
    "custom layer": "composites.html",
    "variable length": "training.html#sequences-of-different-lengths",
    "time series": "series.html",
    "whisper timestamps": "speech.html#transcription",
    "embeddings": "pipelines.html#embeddings",
    # Other spellings, and the words of other libraries.
    "quantise": "quantization.html",
    "finetune": "fine-tuning.html",
    "checkpoints": "keeping-models.html#checkpoints-stop-and-resume",
    "dataloader": "migrating.html#training",
    "tensor": "arrays.html",
    "inference": "predictions.html",
    "deploy": "hosting.html",
    "rag": "pipelines.html#embeddings",
    "ocr": "pipelines.html",
    "stt": "speech.html",
    "tts": "pipelines.html",
    "object detection": "pictures.html#boxes-around-objects",
    "license": "licences.html",
}
"""Words → the section that answers, on a page that is among the first three results."""
SEARCH = """async (queries) => {
  const config = JSON.parse(document.querySelector("#__config").textContent);
  const worker = new Worker(new URL(config.search, document.baseURI));
  const ask = (type, data) => new Promise((resolve) => {
    worker.onmessage = (message) => resolve(message.data.data);
    worker.postMessage({ type, data });
  });
  const index = await (await fetch("search/search_index.json")).json();
  await ask(0, { ...index, options: { suggest: true } });
  const results = {};
  for (const words of queries) {
    const { items } = await ask(2, words);
    results[words] = items.slice(0, 3).map((pages) => pages.map((section) => section.location));
  }
  return results;
}"""
"""Asks the worker in which the theme searches, as its search field does."""


async def test_what_people_look_for_is_among_the_first_three_results(
    page: Any, site_url: str, project: Any
) -> None:
    await page.goto(f"{site_url}/docs/index.html")
    results = await page.evaluate(SEARCH, [*SOUGHT])
    missed = {
        words: results[words]
        for words, section in SOUGHT.items()
        if not any(section in locations for locations in results[words])
    }
    assert missed == {}
