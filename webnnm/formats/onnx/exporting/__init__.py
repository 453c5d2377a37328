"""Export: graphs as ONNX models, by a table with an entry for each operator."""
