"""Structured output: texts that are one of several choices, match a pattern, or fit a schema."""
