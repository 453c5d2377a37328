"""StableHLO: graphs as MLIR text, for XLA and everything else that reads it (spec J)."""
