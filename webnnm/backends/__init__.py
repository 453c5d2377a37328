"""What runs a graph: the interface, and one module per backend."""
