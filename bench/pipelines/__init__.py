"""Tasks of the hub on the same ONNX files, in pages of webnnm and of transformers.js."""
