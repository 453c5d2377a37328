"""From a graph to a plan that a device computes right and fast: `pipeline.compile_plan`."""
