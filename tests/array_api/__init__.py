"""The conformance of `webnnm.xp` with the array API standard, by the test suite of the standard."""
