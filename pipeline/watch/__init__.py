"""A kernel and its stub checked again on every save, for one dtype: by a process that has torch loaded already."""

from pipeline.watch.saves import Saves
from pipeline.watch.subject import Subject, subject_of
from pipeline.watch.verdict import Difference, Verdict
from pipeline.watch.warm import WarmProcess

__all__ = ["Difference", "Saves", "Subject", "Verdict", "WarmProcess", "subject_of"]
