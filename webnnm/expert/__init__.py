"""The expert system: rules that look at model, data and settings before training (spec F)."""
