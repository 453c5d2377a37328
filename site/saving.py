"""Saves files among the downloads: models, and pages that run them."""

MEGABYTE = 1e6


async def save_file(name, content):
    """Let the browser save a file among the downloads, and return a sentence about it."""
    from webnnm.snapshots import storage

    await storage.store(f"{storage.DOWNLOAD}{name}", [content])
    size = len(content)
    many = f"{size / MEGABYTE:.1f} MB" if size >= MEGABYTE else f"{size / 1e3:.1f} kB"
    return f"{name} is saved, {many}."


async def save_page(name, model, **options):
    """Save the archive of a page that runs a model, and return a sentence about it."""
    return await save_file(f"{name}.zip", await model.export(format="page", **options))
