"""Hugging Face models in the notation: a `config.json` becomes a model text and a name map."""
