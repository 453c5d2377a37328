"""Installs what `make bench` compares with in .cache/bench, then runs the contest of bench/."""

from __future__ import annotations

import asyncio

from tools import parity
from tools.common import CACHE, NPM_INSIDE, ROOT, fingerprint, run, step

PACKAGES = (
    "@tensorflow/tfjs@4.22.0",
    "@tensorflow/tfjs-backend-wasm@4.22.0",
    "@jax-js/jax@0.1.25",
    "@wllama/wllama@3.13.0",
    "@litertjs/core@2.5.3",
    "@huggingface/transformers@4.3.2",
)
FOLDER = CACHE / "bench"


def install() -> None:
    """Install the other libraries for pages."""
    product = FOLDER / "node_modules" / "@litertjs" / "core" / "package.json"
    with step("bench", fingerprint([], *PACKAGES, str(ROOT)), product) as needed:
        if needed:
            FOLDER.mkdir(parents=True, exist_ok=True)
            flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
            command = ["npm", "install", "--prefix", FOLDER, *flags, *NPM_INSIDE, "--save-exact"]
            command += PACKAGES
            run(command, "installing the other libraries")


def main() -> None:
    """Install, then measure; PyTorch is installed in the environment of `make parity`."""
    from bench.run import arguments, measure, takes_torch

    chosen = arguments()
    install()
    if takes_torch(chosen.only):
        parity.install()
    asyncio.run(measure(chosen))


if __name__ == "__main__":
    main()
