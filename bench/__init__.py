"""Measurements: never part of the tests."""
