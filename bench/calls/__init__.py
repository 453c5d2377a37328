"""Pages that call a network again and again."""
