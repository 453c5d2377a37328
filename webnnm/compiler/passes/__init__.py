"""Passes that make a graph faster without changing what it computes: from graph to graph."""
