"""Datasets and networks: `binding.bind` says which field feeds which input, in which form."""
