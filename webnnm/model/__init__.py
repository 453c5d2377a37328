"""The facade: `nnmodel.NNModel`, and what is made of models."""
