"""Hints for layers, words and shapes that other libraries write differently."""
