"""Pipelines: a task of a Hugging Face model in one call, from texts or sounds to plain results."""
