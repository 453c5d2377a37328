"""Arrays that compute lazily: the Python array API standard on any backend, `jit` and `grad`."""
