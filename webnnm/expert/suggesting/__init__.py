"""Suggests a dataset and a model for data of any kind: `suggest.suggest`."""
