"""StableHLO: graphs as MLIR text, for XLA and any other reader (spec J)."""
