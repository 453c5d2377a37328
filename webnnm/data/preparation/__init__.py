"""Rows before training: scaling, augmentation, weights, and what statistics say about them."""
