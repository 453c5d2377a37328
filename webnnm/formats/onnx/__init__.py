"""ONNX: models of other programs as graphs, and graphs as models for other programs."""
