"""Editor support for model texts: completion, documentation, diagnostics, names, formatting."""
