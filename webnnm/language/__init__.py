"""What editors ask about a model text: completion, documentation, mistakes, names, layout."""
