"""The command line, one module per command: `webnnm train model.nnm --data rows.csv …`."""

from __future__ import annotations

from webnnm.cli.program import main as main
