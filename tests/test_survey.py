"""The survey tells MPSGraph from Metal as the binaries of the release do, and says what it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.native_functions import Entry
from pipeline.operator_kind import Difficulty, kind_of
from pipeline.pocket.contents import pocket_files
from pipeline.source import NATIVE_FUNCTIONS, MemoryTree
from pipeline.survey import Backend, SurveyRow, graphs_per_file, survey

OPERATIONS = "aten/src/ATen/native/mps/operations"
CENSUS = Path(__file__).parent / "data" / "graph_rows_2.13.0.txt"

ROWS = """\
- func: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: abs_out
    MPS: abs_out_mps

- func: neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: neg_out

- func: ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: ceil_out

- func: view(Tensor(a) self, SymInt[] size) -> Tensor(a)
  dispatch:
    CPU, CUDA, MPS: view

- func: elsewhere(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA, MPS: elsewhere

- func: dot(Tensor self, Tensor tensor) -> Tensor
  dispatch:
    CPU: dot
    CUDA: dot_cuda
    MPS: dot_mps

- func: sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: sign_out
    MPS: sign_out_mps

- func: sum(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor
  dispatch:
    CPU, CUDA: sum

- func: neg_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU, CUDA: neg_
    MPS: neg_mps_

- func: lost.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA: lost_out
    MPS: lost_out_mps
"""
HOST = """\
namespace at::native {
namespace mps {
static void run(const Tensor& self, Block block) {
  runMPSGraph(stream, graph, feeds);
}
} // namespace mps

#define MAKE(func, op) \\
  TORCH_IMPL_FUNC(func##_out_mps)(const Tensor& self) { mps::run(self, #op); }

MAKE(abs, absolute)

TORCH_IMPL_FUNC(sign_out_mps)(const Tensor& self) {
  at::run(self); // mps::run is not called
  lib.exec_unary_kernel(iter, "runMPSGraph");
}

Tensor& neg_mps_(Tensor& self) {
  return at::neg_out(self, self);
}

Tensor dot_mps(const Tensor& self, const Tensor& other) {
  return mps::far_away(self);
}

static void ceil_kernel(TensorIteratorBase& iter) {
  mps::run(iter.input(0), nil);
}

static void neg_kernel(TensorIteratorBase& iter) {
  lib.exec_unary_kernel(iter, "neg");
}

REGISTER_DISPATCH(ceil_stub, &ceil_kernel)
REGISTER_DISPATCH(neg_stub, &neg_kernel)
} // namespace at::native
"""
FAR = """\
namespace at::native::mps {
Tensor far_away(const Tensor& self) {
  auto block = ^{ stream->executeMPSGraph(graph, feeds); };
}
} // namespace at::native::mps
"""
HEADER = """\
using unary_fn = void(*)(TensorIteratorBase&);
DECLARE_DISPATCH(unary_fn, abs_stub)
DECLARE_DISPATCH(unary_fn, neg_stub)
DECLARE_DISPATCH(unary_fn, ceil_stub)
DECLARE_DISPATCH(unary_fn, sign_stub)
"""
CPU = """\
DEFINE_DISPATCH(abs_stub);
#define MAKE(out, stub) \\
  TORCH_IMPL_FUNC(out)(const Tensor& self, const Tensor& result) { stub(device_type(), *this); }
MAKE(neg_out, neg_stub)
MAKE(ceil_out, ceil_stub)
static void run_sign(TensorIteratorBase& iter) {
  sign_stub(iter.device_type(), iter);
}
TORCH_IMPL_FUNC(sign_out)(const Tensor& self, const Tensor& result) {
  run_sign(*this);
}
Tensor view(const Tensor& self, IntArrayRef size) {
  return alias(self, size);
}
"""


def tree() -> MemoryTree:
    files = {
        NATIVE_FUNCTIONS: ROWS,
        f"{OPERATIONS}/Ops.mm": HOST,
        "aten/src/ATen/native/mps/Far.mm": FAR,
        "aten/src/ATen/native/UnaryOps.h": HEADER,
        "aten/src/ATen/native/UnaryOps.cpp": CPU,
    }
    return MemoryTree({path: text.encode() for path, text in files.items()})


@pytest.fixture(scope="module")
def rows() -> dict[str, SurveyRow]:
    return {row.func: row for row in survey(tree())}


def test_only_operators_with_an_mps_row_are_listed(rows: dict[str, SurveyRow]) -> None:
    assert list(rows) == ["abs.out", "neg.out", "ceil.out", "view", "elsewhere", "dot", "sign.out", "neg_", "lost.out"]


@pytest.mark.parametrize(
    ("func", "backend", "way"),
    [
        ("abs.out", Backend.GRAPH, ("run", "runMPSGraph")),
        ("dot", Backend.GRAPH, ("far_away", "executeMPSGraph")),
        ("ceil.out", Backend.GRAPH, ("run", "runMPSGraph")),
        ("neg.out", Backend.NATIVE, ()),
        ("sign.out", Backend.NATIVE, ()),
        ("neg_", Backend.COMPOSED, ()),
        ("view", Backend.COMPOSED, ()),
        ("elsewhere", Backend.UNKNOWN, ()),
        ("lost.out", Backend.UNKNOWN, ()),
    ],
)
def test_backends(rows: dict[str, SurveyRow], func: str, backend: Backend, way: tuple[str, ...]) -> None:
    assert (rows[func].backend, rows[func].way[-2:]) == (backend, way)


def test_places(rows: dict[str, SurveyRow]) -> None:
    assert (rows["abs.out"].path, rows["abs.out"].line) == (f"{OPERATIONS}/Ops.mm", 11)
    assert (rows["ceil.out"].path, rows["ceil.out"].line) == (f"{OPERATIONS}/Ops.mm", 34)
    assert (rows["view"].path, rows["view"].line) == (None, None)
    assert graphs_per_file(tuple(rows.values())) == {f"{OPERATIONS}/Ops.mm": 3}


def test_stubs_are_read_from_the_cpu_s_code_or_told_by_name(rows: dict[str, SurveyRow]) -> None:
    assert (rows["sign.out"].stubs, rows["sign.out"].stubs_by_name) == (("sign_stub",), False)
    assert (rows["abs.out"].stubs, rows["abs.out"].stubs_by_name) == (("abs_stub",), True)
    assert rows["dot"].stubs == () and rows["view"].stubs == ()


def test_obstacles_are_those_of_the_row_edit(rows: dict[str, SurveyRow]) -> None:
    assert rows["abs.out"].obstacle == "" and rows["sign.out"].obstacle == ""
    assert "shared already" in rows["ceil.out"].obstacle
    assert "no shared row" in rows["dot"].obstacle


def test_the_pocket_agrees_with_the_binaries() -> None:
    census = {line for line in CENSUS.read_text().splitlines() if line and not line.startswith("#")}
    rows = survey(MemoryTree(pocket_files()))
    own = {row.func for row in rows if row.backend is Backend.GRAPH}
    native = {row.func for row in rows if row.backend is Backend.NATIVE}
    # where.self is a structured twin of where.self_out on the same stub.
    assert own - {"where.self"} <= census
    assert not native & census
    assert {"sign.out", "logit", "ceil.out", "isposinf.out", "mse_loss_backward", "where.self_out"} <= own
    assert {"exp.out", "log.out"} <= native
    assert rows == survey(MemoryTree(pocket_files()))


@pytest.mark.parametrize(
    ("schema", "kind", "difficulty"),
    [
        ("abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "unary", Difficulty.S),
        ("atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", "binary", Difficulty.S),
        (
            "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
            "binary with alpha",
            Difficulty.S,
        ),
        (
            "elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar s=1, *, Tensor(a!) out) -> Tensor(a!)",
            "unary with params",
            Difficulty.S,
        ),
        (
            "addcmul.out(Tensor self, Tensor t1, Tensor t2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)",
            "ternary with alpha",
            Difficulty.M,
        ),
        ("_prelu_backward(Tensor g, Tensor s, Tensor w) -> (Tensor, Tensor)", "ternary, 2 outputs", Difficulty.M),
        (
            "mse_loss.out(Tensor self, Tensor t, int reduction=Mean, *, Tensor(a!) out) -> Tensor(a!)",
            "loss",
            Difficulty.S,
        ),
        ("mse_loss_backward(Tensor g, Tensor self, Tensor t, int reduction) -> Tensor", "loss", Difficulty.M),
        (
            "sum.out(Tensor self, int[1]? dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
            "reduction",
            Difficulty.L,
        ),
        ("addmm.out(Tensor self, Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)", "matrix product", Difficulty.L),
        ("addmv.out(Tensor self, Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)", "vector product", Difficulty.M),
        ("permute(Tensor(a) self, int[] dims) -> Tensor(a)", "view", Difficulty.S),
        ("range.out(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)", "factory", Difficulty.S),
        ("normal_(Tensor(a!) self, float mean=0, *, Generator? generator=None) -> Tensor(a!)", "random", Difficulty.M),
        ("cumsum.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)", "scan", Difficulty.L),
        (
            "_log_softmax.out(Tensor self, int dim, bool half, *, Tensor(a!) out) -> Tensor(a!)",
            "row reduction",
            Difficulty.L,
        ),
        ("repeat(Tensor self, SymInt[] repeats) -> Tensor", "copy", Difficulty.S),
        (
            "upsample_nearest1d.out(Tensor self, SymInt[1] s, *, Tensor(a!) out) -> Tensor(a!)",
            "resampling",
            Difficulty.M,
        ),
    ],
)
def test_kinds(schema: str, kind: str, difficulty: Difficulty) -> None:
    entry = Entry(schema.partition("(")[0], schema, 1, structured_inherits="TensorIteratorBase")
    found = kind_of(entry)
    assert (found.name, found.difficulty) == (kind, difficulty)
