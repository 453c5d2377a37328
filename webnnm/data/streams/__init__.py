"""Datasets larger than memory: `stream.StreamDataset`."""
