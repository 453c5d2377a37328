"""The host side of training, from the review to the last epoch: `training.Training`."""
