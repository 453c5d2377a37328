"""Models of Hugging Face as notation: a `config.json` becomes a model text and a name map."""
