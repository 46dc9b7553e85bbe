"""The comparison itself: what is close, what is not, and that nothing is close to an infinity but itself."""

from __future__ import annotations

import math

import pytest
import torch

from pipeline.numerics.compare import Inputs, by_reason, compare
from pipeline.numerics.reference import Expected

INF, NAN = math.inf, math.nan


def told(
    answer: complex | float, got: complex | float, dtype: torch.dtype, wide: complex | float | None = None
) -> bool:
    """Whether `got` passes for `answer`."""
    same = torch.tensor([answer], dtype=dtype)
    double = torch.complex128 if dtype.is_complex else torch.float64
    truth = torch.tensor([answer if wide is None else wide], dtype=double)
    expected = Expected((same, same), truth, lambda: torch.zeros(1, dtype=torch.float64))
    inputs = Inputs(torch.tensor([False]), torch.tensor([False]))
    return compare(torch.tensor([got], dtype=dtype), expected, exact=False, inputs=inputs).passed


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("answer", "got", "passes"),
    [
        (INF, INF, True),
        (INF, 5.0, False),
        (INF, -INF, False),
        (INF, NAN, False),
        (-INF, 5.0, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (0.0, -0.0, False),
        (1.0, 1.0, True),
        (1.0, 1.2, False),
        (1e-6, 0.0, False),
    ],
)
def test_real_results(answer: float, got: float, passes: bool, dtype: torch.dtype) -> None:
    assert told(answer, got, dtype) is passes


@pytest.mark.parametrize(
    ("answer", "got", "passes"),
    [
        (complex(INF, 1), complex(INF, 1), True),
        (complex(INF, 1), complex(1, INF), False),
        (complex(INF, 1), complex(-INF, 1), False),
        (complex(INF, 1), complex(INF, 1.0001), True),
        (complex(INF, 1), complex(INF, 2), False),
        (complex(INF, 1), complex(3, 1), False),
        (complex(INF, NAN), complex(INF, NAN), True),
        (complex(INF, NAN), complex(NAN, NAN), True),
        (complex(2, 1), complex(2, 1), True),
        (complex(2, 1), complex(1, 2), False),
    ],
)
def test_complex_results_of_infinite_operands(answer: complex, got: complex, passes: bool) -> None:
    assert told(answer, got, torch.complex64) is passes


def test_infinity_where_the_truth_is_beyond_the_dtype_and_the_other_way_round() -> None:
    assert told(3.4e38, INF, torch.float32, wide=3.5e38)
    assert not told(3e38, INF, torch.float32, wide=3e38)


def test_a_wrong_infinity_of_a_complex_result_is_no_lack_of_precision() -> None:
    got, answer = torch.tensor([complex(1, INF)]), torch.tensor([complex(INF, 1)])
    wrong = torch.tensor([True])
    assert set(by_reason(got, Expected((answer,)), wrong, exact=False)) == {"value"}
