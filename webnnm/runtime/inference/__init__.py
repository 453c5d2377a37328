"""Inference: `context.InferenceContext` for one batch size, `prediction` for any number of rows."""
