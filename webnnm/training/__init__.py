"""Training as graph-building functions: no device, no loop."""
