"""Backends, which run graphs: the interface, and one module per backend."""
