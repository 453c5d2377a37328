"""Large files: their bytes, the progress of them, and their hashes; from disks and servers."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from webnnm.core.errors import DataError
from webnnm.data.files.downloads import Downloads

CONTENT = bytes(range(256)) * 10_000
HASH = hashlib.sha256(CONTENT).hexdigest()


async def test_a_file_of_a_disk_is_mapped_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(CONTENT)
    told: list[tuple[str, int, int]] = []
    how = Downloads(
        progress=lambda *news: told.append(news), hashes={"weights.bin": HASH.upper(), "other": "0"}
    )
    assert bytes(await how.bytes(path)) == CONTENT
    if sys.platform != "emscripten":
        assert told == [("weights.bin", len(CONTENT), len(CONTENT))]


async def test_another_hash_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=rf"NNM801: .* has the SHA-256 \w{{64}}, not {HASH}"):
        await Downloads(hashes={"weights.bin": HASH}).bytes(path)


@pytest.mark.desktop
async def test_a_server_is_asked_once_and_progress_is_told(tmp_path: Path) -> None:
    from webnnm.cli.serve import SiteServer

    (tmp_path / "weights.bin").write_bytes(CONTENT)
    told: list[tuple[str, int, int]] = []
    how = Downloads(progress=lambda *news: told.append(news), hashes={"weights.bin": HASH})
    with SiteServer(tmp_path) as server:
        assert await how.bytes(f"{server.url}/weights.bin?download=true") == CONTENT
        with pytest.raises(DataError, match=r"NNM715: .*missing\.bin"):
            await how.bytes(f"{server.url}/missing.bin")
    assert [*map(len, {*told})] == [3] * len({*told})
    assert len(told) > 1
    assert told[-1] == ("weights.bin", len(CONTENT), len(CONTENT))
    assert sorted(told) == told
