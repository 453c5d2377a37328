"""Models as graphs: the tensor graph, and how a document becomes one."""
