"""The notebooks in JupyterLite, whose kernel trains on WebNN, without a request to elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from tools.common import JUPYTER

in_one_browser = pytest.mark.projects("webnn")


@in_one_browser
async def test_a_notebook_runs_in_a_page(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    if not (JUPYTER / "lab" / "index.html").exists():
        pytest.skip("JupyterLite is not built: `make jupyter` does it")
    page = await new_page(await launch(project.name))
    page.set_default_timeout(60_000)
    elsewhere: list[str] = []

    def note(request: Any) -> None:
        if not request.url.startswith((site_url, "blob:", "data:")):
            elsewhere.append(request.url)

    page.on("request", note)
    await page.goto(f"{site_url}/jupyter/lab/index.html?path=first-model.ipynb")
    await page.locator(".jp-Notebook .jp-Cell").first.click()
    await page.get_by_role("menuitem", name="Run", exact=True).click()
    await page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    # The last cell opens what the one before the last saved; cells above are hidden by then.
    last = page.locator(".jp-Notebook .jp-CodeCell").last
    await last.locator(".jp-OutputArea-output", has_text="on WebNN").wait_for()
    await last.locator(".jp-OutputArea-output", has_text="setosa 9").wait_for()
    await page.locator(".jp-OutputArea-output", has_text="accuracy 0.9").wait_for()
    assert elsewhere == []
