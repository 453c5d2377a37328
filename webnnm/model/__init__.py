"""The facade: `nnmodel.NNModel`, and what is made from models."""
