"""Processors: from pictures and sounds to the inputs that a model was trained on."""
