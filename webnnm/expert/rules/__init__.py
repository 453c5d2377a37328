"""The rules of the expert system, one module per area: `registry.RULES` has all of them."""
