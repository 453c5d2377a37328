"""ONNX: imports models of other programs as graphs, and exports graphs as ONNX models."""
