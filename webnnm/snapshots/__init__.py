"""A model as one file, its checkpoints with it, and where files are kept: `snapshot`."""
