"""What rules know: `facts.Facts`, measured on model, data, settings and history."""
