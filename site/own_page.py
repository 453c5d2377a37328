"""The archive of a page that serves a model: what `webnnm new --kind element` writes."""

import asyncio
import io
import json
from zipfile import ZIP_DEFLATED, ZipFile

from pyscript import window

FILES = "./element-page/files.json"
"""Path in the archive → address in this site, of all files but the model."""
MODEL = "model.safetensors"


async def archive(snapshot):
    """Return the bytes of the archive of a page with a saved model, for any web server."""
    from webnnm.core import service_worker

    addresses = json.loads(await fetch_bytes(FILES))
    contents = await asyncio.gather(*map(fetch_bytes, addresses.values()))
    files = dict(zip(addresses, contents, strict=True)) | {MODEL: snapshot}
    script = files.pop(service_worker.NAME).decode()
    unkept = {"_headers"}
    kept = {name: content for name, content in files.items() if name not in unkept}
    files[service_worker.NAME] = service_worker.fill(script, kept, edited=True)
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return target.getvalue()


async def fetch_bytes(address):
    """Return the bytes of a file of this site."""
    answer = await window.fetch(address)
    if not answer.ok:
        raise OSError(f"{address} cannot be fetched: {answer.status} {answer.statusText}")
    return (await answer.arrayBuffer()).to_bytes()
