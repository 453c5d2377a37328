"""The state of a model, and inference, prediction and tests with it: `state.ModelState`."""
