"""The state of a model (`state.ModelState`), and inference, prediction and tests with it."""
