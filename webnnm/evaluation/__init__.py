"""Metrics of predictions, and the result of a test that holds them."""

from webnnm.evaluation.classification_report import ClassificationReport as ClassificationReport
from webnnm.evaluation.compare import classification as classification
from webnnm.evaluation.compare import evaluate as evaluate
from webnnm.evaluation.compare import multilabel as multilabel
from webnnm.evaluation.compare import regression as regression
from webnnm.evaluation.probabilities import Scale as Scale
from webnnm.evaluation.probabilities import scale_of as scale_of
from webnnm.evaluation.result import TestResult as TestResult
