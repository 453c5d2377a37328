"""Models saved as single files, with their checkpoints, and the storage of files: `snapshot`."""
