"""Training: what is learnt from judgements, each fit from those of the split that it is handed."""

from assay.training.handed import Handed, handed
from assay.training.weights import FitReport, fitted

__all__ = ["FitReport", "Handed", "fitted", "handed"]
