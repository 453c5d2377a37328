"""Metrics of predictions, and the result of a test that holds them."""
