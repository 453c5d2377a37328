"""Builds the documentation site; `make docs` calls it."""

from tools.common import DOCUMENTS, ROOT, SITE, say
from tools.docs import documents

if __name__ == "__main__":
    documents.build()
    if SITE.exists():
        documents.copy_to_site()
    say(f"{DOCUMENTS.relative_to(ROOT)}/index.html: `make serve` shows it under /docs/")
