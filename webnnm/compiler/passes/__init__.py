"""What makes a graph faster without changing what it computes: functions from graph to graph."""
