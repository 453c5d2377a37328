"""Datasets: arrays in memory divided into subsets, delivered in batches."""

from webnnm.data.batch import Batch
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.data.iris import IrisDataset
from webnnm.data.standardize import Standardization

__all__ = ["Batch", "Dataset", "Field", "IrisDataset", "Standardization"]
