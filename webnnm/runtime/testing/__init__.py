"""Tests of a model over a subset of its dataset."""
