"""Runs the command line: `python -m webnnm`."""

from webnnm.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
