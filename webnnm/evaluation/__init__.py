"""Metrics of predictions, and the test result that contains them."""
