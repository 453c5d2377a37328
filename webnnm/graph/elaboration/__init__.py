"""From a document to a network (`elaborate.elaborate`), and to its graph (`lowering`)."""
