"""Scripts that set up, build, serve and show webnnm from a checkout."""
