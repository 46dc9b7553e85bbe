"""How many rows ran on MPSGraph at each commit of a repository, told from its objects."""

from pipeline.history.commits import RELEASES, Moment
from pipeline.history.count import Counts, Point, count_moments
from pipeline.history.opening import History, open_history

__all__ = ["RELEASES", "Counts", "History", "Moment", "Point", "count_moments", "open_history"]
