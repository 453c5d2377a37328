"""The host's side of a training, from its review to its last epoch: `training.Training`."""
