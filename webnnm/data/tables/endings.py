"""How the names of files of tables end."""

from __future__ import annotations

CSV = (".csv", ".tsv")
"""Texts that are tables by their names."""

TEXTS = (*CSV, ".txt")
"""Texts that `read_csv` takes for tables."""

ZIPPED = (*CSV, *(f"{ending}.gz" for ending in CSV))
"""Tables of pictures and their labels."""

TABLES = (*TEXTS, ".data", ".xlsx", ".parquet", ".feather", ".arrow", ".jsonl")
"""All tables that `read_table` reads."""
