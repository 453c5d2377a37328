"""The base of everything: errors, findings, data types, shapes, host arrays, random bits."""
