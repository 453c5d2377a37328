"""Datasets that need no file: Iris, and points in the plane."""
