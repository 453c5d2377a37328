"""Files of other programs: safetensors, StableHLO, ONNX."""
