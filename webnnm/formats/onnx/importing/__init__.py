"""Import: ONNX models as tensor graphs."""
