"""Inputs of a page with everything on it: all states, evidence, failures, a benchmark, texts that try to get out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline.history import Counts, Moment, Point
from pipeline.manifest import MANIFEST, Manifest, Operator, State, Status, parse_manifest, targets_of
from pipeline.page import Inputs
from pipeline.page.timeline import Version
from pipeline.record import MacRecord, Record

LONG = "torch/testing/_internal/common_methods_invocations_with_a_name_that_no_small_screen_can_hold.py:25617"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
PULL = "https://github.com/pytorch/pytorch/pull/7"
TEXT = "upstream: {repository: pytorch/pytorch, base: main}\nauthor: {name: bot, email: b@example.org}\noperators: []\n"
DIFF = """\
diff --git a/aten/src/ATen/native/mps/kernels/UnaryKernel.metal b/aten/src/ATen/native/mps/kernels/UnaryKernel.metal
--- a/aten/src/ATen/native/mps/kernels/UnaryKernel.metal
+++ b/aten/src/ATen/native/mps/kernels/UnaryKernel.metal
@@ -8,4 +8,6 @@
 };
 
+/* sign: <b>two</b>
+   lines */
-REGISTER_UNARY_OP(neg, int, int);
+REGISTER_UNARY_OP(neg, long, long);
 // end
@@ -30,2 +32,2 @@ template <typename T>
-struct a {};
\\ No newline at end of file
+struct b {};
 struct c {};
diff --git a/tests/new.py b/tests/new.py
new file mode 100644
--- /dev/null
+++ b/tests/new.py
@@ -0,0 +1,1 @@
+def new(): return "x"
"""
NUMERICS: dict[str, Any] = {
    "launched": {
        "sign_dense_float_float": 5,
        "sign_strided_float_float": 19,
        "sign_dense_half_half": 5,
        "sign_dense_castout_int": 7,
    },
    "idle": ["sign_strided_half_half"],
    "reports": [
        {
            "rule": "numerics/nan",
            "dtypes": ["float16"],
            "flavours": ["dense", "strided"],
            "host_names": ["sign_dense_half_half"],
            "layout": "dense -> dense",
            "inputs": {"self": {"dtype": "float16", "shape": [1], "stride": [1], "values": "nan"}},
            "scalars": {"alpha": 2},
            "expected": {"dtype": "float16", "shape": [1], "stride": [1], "values": "0.0"},
            "got": {"dtype": "float16", "shape": [1], "stride": [1], "values": HOSTILE},
            "reproduction": f"print('{HOSTILE}')\n",
        },
        {
            "rule": "numerics/missing-kernel",
            "dtypes": ["bool"],
            "flavours": [],
            "host_names": ["sign_dense_bool_bool"],
            "layout": "dense -> dense",
            "inputs": {},
            "scalars": {},
        },
    ],
}


def make_manifest() -> Manifest:
    operators = [
        Operator(
            f"op_{state.value}",
            kind="unary",
            into=targets_of("UnaryKernel" if number % 2 else "BinaryKernel"),
            status=Status(state, at=f"2026-11-{10 + number}T06:00:00Z", link=PULL if state is State.PROPOSED else ""),
            kernel="k",
            host="h",
        )
        for number, state in enumerate(State)
    ]
    sign = Operator(
        "sign",
        kind="unary",
        rows=("sign.out",),
        stub="sign_stub",
        kernel="kernels/sign.metal",
        host="stubs/sign.mm",
        into=targets_of("UnaryKernel"),
        opinfo=("sign",),
        depends_on=("op_ready",),
        claim="javascript:alert(1)",
        notes=f"NaN gives `0`. {HOSTILE} {LONG}",
        status=Status(State.TESTED, commit="2" * 40, at="2026-11-29T06:00:00Z", image="macos-15"),
    )
    return replace(parse_manifest(TEXT, MANIFEST), operators=(sign, *operators))


def make_record() -> Record:
    rows = {"check": "rows", "outcome": "passed", "summary": "parsed", "not_covered": [], "findings": [], "data": {}}
    finding = {
        "rule": "numerics/nan",
        "severity": "error",
        "path": "kernels/sign.metal",
        "line": 3,
        "message": f"sign(nan) is wrong {HOSTILE} {LONG}",
        "hint": "look",
        "accepted": "",
    }
    numerics = {
        "check": "numerics",
        "outcome": "failed",
        "summary": "36 runs",
        "not_covered": ["This ran on a CPU.", f"`contract` looks at {LONG}"],
        "findings": [finding],
        "data": NUMERICS,
    }
    return Record(
        operator="sign",
        source="pocket@1",
        base="1" * 40,
        at="2026-11-29T08:00:00Z",
        commit="",
        error=f"a check failed in {LONG}",
        evidence=[rows, numerics],
        left=[f"look at {LONG}"],
        diff=DIFF,
        machine="Linux x86_64",
        torch="2.13.0",
    )


def make_mac_record() -> MacRecord:
    timing = {"operator": "sign", "dtype": "float32", "elements": 1000}
    measured = {"old_us": 31.5, "old_spread_us": 2.0, "new_us": 20.25, "new_spread_us": 40.0}
    return MacRecord(
        operator="sign",
        commit="2" * 40,
        at="2026-11-29T09:00:00Z",
        level="full",
        verdict="passed",
        summary="12 tests passed",
        link="https://github.com/ours/bot/actions/runs/1",
        image="macos-15",
        chip="Apple M1",
        failed=[],
        timings=[{**timing, **measured}],
    )


def make_history() -> tuple[str, list[Point]]:
    begin = datetime(2025, 12, 1, tzinfo=UTC)
    points = [
        Point(
            Moment(f"{number:040d}", begin + timedelta(days=20 * number), f"Change {number} {HOSTILE}"),
            Counts(own=300 - number, shared=200 + number, own_graph=160 - 5 * number, shared_graph=3, unseen=0),
        )
        for number in range(12)
    ]
    return "here", [*points, Point(points[-1].moment, None, "gone")]


def make_inputs(*, history: bool = False) -> Inputs:
    versions = [
        Version("2026-11-20T00:00:00Z", {"sign": {"state": "ready"}}),
        Version("2026-11-21T00:00:00Z", {"sign": {"state": "ready"}}),
        Version("2026-11-28T00:00:00Z", {"sign": {"state": "branched", "at": "2026-11-27T00:00:00Z"}}),
    ]
    records, mac_records = {"sign": make_record()}, {"sign": make_mac_record()}
    return Inputs(make_manifest(), records, mac_records, versions, make_history() if history else None)
