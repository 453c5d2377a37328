"""Functions from graphs to graphs: derivatives, batching, rewriting."""
