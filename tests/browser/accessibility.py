"""What axe-core finds wrong with a page for people who use assistive technology."""

from __future__ import annotations

from typing import Any

from tools.common import NODE_MODULES

AXE = NODE_MODULES / "axe-core" / "axe.min.js"
RUN = """
async () => {
  const { violations } = await axe.run();
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 120)}`));
}
"""


async def violations(page: Any) -> list[str]:
    """Return the violations of the rules of axe-core in a page as it is now, a line for each."""
    if not await page.evaluate("'axe' in globalThis"):
        # As a debugger would: the page's policy does not hold for it.
        await page.evaluate(AXE.read_text())
    return await page.evaluate(RUN)
