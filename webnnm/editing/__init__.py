"""Changes of model texts: adapters, splitting, joining."""
