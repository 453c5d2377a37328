"""Files of other programs: safetensors."""
