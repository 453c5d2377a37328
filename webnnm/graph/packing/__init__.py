"""Parameters in few bits: matrices as packed integers with scales."""
