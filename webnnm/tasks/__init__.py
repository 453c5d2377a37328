"""Pipelines: tasks of Hugging Face models in one call; texts, pictures, sounds to plain results."""
