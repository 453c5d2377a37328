"""From a graph to a plan that a device computes correctly and fast: `pipeline.compile_plan`."""
