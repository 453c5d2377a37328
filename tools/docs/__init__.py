"""Builds the documentation site from docs/."""
