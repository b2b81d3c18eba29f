"""Training: what is learnt from judgements, each fit from those of the split that it is handed."""

from assay.training.biencoder import BiencoderRecipe, trained_biencoder
from assay.training.course import Schedule
from assay.training.handed import Handed, Lesson, handed, lesson
from assay.training.negatives import Mining, Negatives, drawn, mining_task
from assay.training.reranker import RerankerRecipe, trained_reranker
from assay.training.trained import Request, TrainReport
from assay.training.weights import FitReport, fitted

__all__ = [
    "BiencoderRecipe",
    "FitReport",
    "Handed",
    "Lesson",
    "Mining",
    "Negatives",
    "Request",
    "RerankerRecipe",
    "Schedule",
    "TrainReport",
    "drawn",
    "fitted",
    "handed",
    "lesson",
    "mining_task",
    "trained_biencoder",
    "trained_reranker",
]
