"""How many rows ran on MPSGraph at each commit of a repository, told from its objects."""

from pipeline.history.commits import Moment, moments
from pipeline.history.count import Point, count_moments

__all__ = ["Moment", "Point", "count_moments", "moments"]
