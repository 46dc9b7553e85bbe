"""Which elements of a call the CPU operator takes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.numerics import domain
from pipeline.numerics.conventions import target_of_operator
from pipeline.numerics.domain import Domain
from pipeline.numerics.values import crossed

Predicate = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def part(monkeypatch: pytest.MonkeyPatch, first: torch.Tensor, second: torch.Tensor, holds: Predicate) -> Any:
    """What is left of a call for an operator that takes what something holds for, and how often it was asked."""
    asked = 0

    def accepts(target: object, arguments: dict[str, Any]) -> bool:
        nonlocal asked
        asked += 1
        return bool(holds(arguments["self"], arguments["other"]).all())

    monkeypatch.setattr(domain, "accepts", accepts)
    found = Domain(target_of_operator("atan2")).part({"self": first, "other": second})
    return None if found is None else list(zip(found["self"].tolist(), found["other"].tolist(), strict=True)), asked


NUMBERS = torch.tensor([-2.0, -1.0, -0.0, 0.0, 0.25, 1.0, 3.0])
HOLDS: dict[str, Predicate] = {
    "a range of each": lambda a, b: (a >= 0) & (a <= 1) & (b > 0),
    "the first below the second": lambda a, b: a < b,
    "one sign of zero": lambda a, b: ~torch.signbit(a) & (b == 0),
    "all but one pair": lambda a, b: (a != 1) | (b != 3),
    "one pair": lambda a, b: (a == 1) & (b == 3),
    "an odd one": lambda a, b: ((a > 0) & (b > 0)) | ((a == -2) & (b == -2)),
}


@pytest.mark.parametrize("holds", HOLDS.values(), ids=HOLDS.keys())
def test_exactly_the_elements_that_are_taken_are_left(holds: Predicate, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = crossed([NUMBERS, NUMBERS])
    wanted = holds(first, second)
    assert part(monkeypatch, first, second, holds)[0] == list(
        zip(first[wanted].tolist(), second[wanted].tolist(), strict=True)
    )


@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=2, max_size=50))
def test_whatever_the_elements_have_in_common(taken: list[bool]) -> None:
    flags = torch.tensor(taken)
    first, second = torch.arange(float(len(taken))), torch.zeros(len(taken))
    with pytest.MonkeyPatch.context() as patch:
        left, _ = part(patch, first, second, lambda a, b: flags[a.long()])
    assert left == (None if all(taken) or not any(taken) else [(float(i), 0.0) for i in range(len(taken)) if taken[i]])


def test_a_large_grid_takes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = torch.linspace(-3, 3, 150)
    first, second = crossed([numbers, numbers])
    left, calls = part(monkeypatch, first, second, lambda a, b: (a >= 0) & (a <= 1) & (b.abs() <= 1))
    assert len(left) == 25 * 50
    assert calls < 600


def test_a_call_of_another_shape_is_filled_with_what_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "accepts", lambda target, arguments: bool((arguments["self"] > 0).all()))
    found = Domain(target_of_operator("atan2"))
    first = torch.tensor([-1.0, 2.0, 3.0])
    shaped = {"self": -torch.ones(2, 2), "other": torch.ones(2, 2)}
    assert found.part(shaped) is None, "nothing is known yet"
    found.part({"self": first, "other": torch.tensor([5.0, 6.0, 7.0])})
    filled = found.part(shaped)
    assert filled is not None
    assert filled["self"].tolist() == [[2, 3], [2, 3]]
    assert filled["other"].tolist() == [[6, 7], [6, 7]]
    assert found.part({name: each.double() for name, each in shaped.items()}) is None, (
        "of these dtypes nothing is known"
    )
    assert found.part({**shaped, "other": torch.ones(2)}) is None, "unlike shapes"


@pytest.mark.parametrize(
    ("answer", "survives", "refused"),
    [
        (lambda: True, True, False),
        (lambda: False, True, True),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), False, False),
        (os.abort, False, False),
    ],
    ids=["takes it", "refuses it", "is killed", "aborts"],
)
def test_what_an_operator_does_to_its_process_is_told_from_its_answer(
    answer: Callable[[], object], survives: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "accepts", lambda target, arguments: answer())
    target = target_of_operator("atan2")
    assert domain.survive(target, [{}]) is survives
    assert domain.refuses(target, {}) is refused
