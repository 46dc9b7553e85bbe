"""Stubs that cut long rows up, or an iterator by hand, run as they are written and compared with torch."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch

from pipeline.exec_kernel.execute import Kernels
from pipeline.metal import compile_file
from pipeline.stub_interpreter.aten import from_python
from pipeline.stub_interpreter.stub import StubText

ROOT = Path(__file__).parent.parent


@functools.cache
def operator(name: str) -> tuple[StubText, Kernels]:
    kernel = ROOT / "kernels" / f"{name}.metal"
    text = StubText((ROOT / "stubs" / f"{name}.mm").read_text(), [kernel.read_text()], name)
    return text, Kernels.of(compile_file(kernel))


def run(name: str, function: str, *arguments: object) -> tuple[tuple[torch.Tensor, ...], list[str]]:
    """The results, and the names of the kernels that ran."""
    stub, kernels = operator(name)
    results, dispatched = stub.run(function, [from_python(each) for each in arguments], kernels)
    found = results if isinstance(results, tuple) else (results,)
    return tuple(each for each in found if isinstance(each, torch.Tensor)), [each.host_name for each in dispatched]


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "rows",
    [random(2, 40_001), random(40_001, 3).t() + 1000, random(2, 40_001, dtype=torch.complex64)],
    ids=["dense", "transposed, far from zero", "complex"],
)
def test_moments_of_long_rows_are_added_from_parts(rows: torch.Tensor) -> None:
    (variance, mean), names = run("std_mean", "var_mean_mps", rows, [1], 0, True)
    wide = rows.to(torch.complex128 if rows.is_complex() else torch.float64)
    wanted = torch.var_mean(wide, dim=1, correction=0, keepdim=True)
    assert [name.rpartition("_")[0] for name in names] == ["std_mean_of_parts", "std_mean_of_rows"]
    torch.testing.assert_close(variance, wanted[0].float(), rtol=1e-5, atol=0)
    torch.testing.assert_close(mean, wanted[1].to(mean.dtype), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("size", [3, 40_000])
def test_equal_elements_have_no_deviation(size: int) -> None:
    (deviation, mean), _ = run("std_mean", "std_mean_mps", torch.full((size,), 3.3), None, None, False)
    assert deviation.item() == 0
    assert mean.item() == pytest.approx(3.3)


def test_the_sum_of_the_elements_is_never_formed() -> None:
    (variance, mean), _ = run("std_mean", "var_mean_mps", torch.full((1000,), 3e38), [], 1, False)
    assert variance.item() == 0
    assert mean.item() == pytest.approx(3e38)


@pytest.mark.filterwarnings("ignore:std_mean")
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_moments_of_no_elements_are_nan_or_none(shape: tuple[int, ...]) -> None:
    results, names = run("std_mean", "std_mean_mps", torch.ones(shape), [len(shape) - 1], 1, False)
    wanted = torch.std_mean(torch.ones(shape), dim=-1)
    assert not names
    for got, right in zip(results, wanted, strict=True):
        torch.testing.assert_close(got, right, equal_nan=True)


def test_a_dimension_named_twice_is_refused() -> None:
    with pytest.raises(Exception, match="multiple times"):
        run("std_mean", "std_mean_mps", torch.ones(2, 3), [0, -2], 1, False)


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (torch.float32, torch.float32),
        (torch.float16, torch.float16),
        (torch.bfloat16, torch.bfloat16),
        (torch.int64, torch.int64),
        (torch.int8, torch.int32),
        (torch.bool, torch.int32),
    ],
)
def test_weights_are_summed_in_their_own_dtype(dtype: torch.dtype, result: torch.dtype) -> None:
    weights = torch.tensor([1, 0, 1, 1, 1]).to(dtype)
    (sums,), _ = run("bincount", "_bincount_mps", torch.tensor([3, 1, 1, 1, 3]), weights, 6)
    assert sums.dtype is result and sums.tolist() == [0, 2, 0, 2, 0, 0]


def test_sums_of_int64_weights_do_not_wrap_at_32_bits() -> None:
    weights = torch.tensor([2**40, -1, 2**31])
    (sums,), _ = run("bincount", "_bincount_mps", torch.tensor([0, 0, 1]), weights, 0)
    assert sums.tolist() == [2**40 - 1, 2**31]


def test_bins_are_counted_along_strides() -> None:
    numbers = torch.tensor([[1, 9], [1, 9], [2, 9]], dtype=torch.uint8)[:, 0]
    (counts,), _ = run("bincount", "_bincount_mps", numbers, None, 0)
    assert counts.dtype is torch.int64 and counts.tolist() == [0, 2, 1]
    with pytest.raises(Exception, match="non-negative"):
        run("bincount", "_bincount_mps", torch.tensor([-1, 2]), None, 0)
