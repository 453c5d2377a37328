"""Models of ONNX as tensor graphs."""
