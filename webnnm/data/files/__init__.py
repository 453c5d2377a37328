"""Bytes from paths and addresses, and what files may refer to."""
