"""Export: graphs as models of ONNX, by a table with an entry for each operator."""
