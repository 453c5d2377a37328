"""Metrics of predictions, and the result of a test that holds them."""

from webnnm.evaluation.classification_report import ClassificationReport as ClassificationReport
from webnnm.evaluation.compare import classification as classification
from webnnm.evaluation.compare import evaluate as evaluate
from webnnm.evaluation.compare import multilabel as multilabel
from webnnm.evaluation.compare import regression as regression
from webnnm.evaluation.multilabel_report import MultilabelReport as MultilabelReport
from webnnm.evaluation.probabilities import Scale as Scale
from webnnm.evaluation.probabilities import scale_of as scale_of
from webnnm.evaluation.regression_report import RegressionReport as RegressionReport
from webnnm.evaluation.result import Report as Report
from webnnm.evaluation.result import TestResult as TestResult
