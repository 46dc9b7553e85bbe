"""Which kinds of cases a session has had: some layouts are worth trying for the first of a kind only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch


class Seen:
    """`some` is how many cases of the same dtypes are worth laying out far apart."""

    def __init__(self, some: int) -> None:
        self._some = some
        self._apart: Counter[str] = Counter()
        self._ranks: set[tuple[str, int]] = set()

    def first_of_rank(self, dtypes: str, operands: Sequence[torch.Tensor]) -> bool:
        """Whether no operands of these dtypes had so many dimensions before, two of them at least."""
        rank = max((each.dim() for each in operands), default=0)
        new = rank > 1 and (dtypes, rank) not in self._ranks
        self._ranks.add((dtypes, rank))
        return new

    def spreads(self, dtypes: str, operands: Sequence[torch.Tensor]) -> bool:
        """Whether these are to lie far apart: they have rows, and not many of the same dtypes came before."""
        if any(each.dim() > 1 and each.shape[0] < 2 for each in operands) or all(each.dim() < 2 for each in operands):
            return False
        self._apart[dtypes] += 1
        return self._apart[dtypes] <= self._some
