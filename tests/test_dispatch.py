"""Row edits on the real native_functions.yaml of the torch wheel, on past releases, and on rows of every odd shape."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torchgen
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from torchgen.gen import parse_native_yaml_struct, parse_tags_yaml

from pipeline.edits.dispatch import add, collapse, collapse_splices, drop, drop_splices, rows_of
from pipeline.edits.splice import Splice, apply
from pipeline.errors import Refusal
from pipeline.native_functions import Entry, NativeFunctions

PACKAGED = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
CASES = Path(__file__).parents[2] / "shared" / "cases"


@cache
def wheel() -> NativeFunctions:
    return NativeFunctions((PACKAGED / "native_functions.yaml").read_bytes().decode())


@cache
def release(version: str) -> NativeFunctions:
    return NativeFunctions(gzip.decompress((CASES / f"native_functions-{version}.yaml.gz").read_bytes()).decode())


def has_dedicated_mps_row(entry: Entry) -> bool:
    row = entry.row("MPS")
    return row is not None and not {"CPU", "CUDA"} & set(row.keys)


def entry_in(text: str, func: str) -> Entry:
    """The entry, from its own lines alone."""
    start = text.index(f"\n- func: {func}(") + 1
    end = text.find("\n- func: ", start)
    return NativeFunctions(text[start : end if end >= 0 else None]).entry(func)


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went and came, with a common head and tail cut off."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return old, new


# --- what upstream did ----------------------------------------------------------------------------


@pytest.mark.skipif(not CASES.is_dir(), reason="the rows of past releases are not beside this checkout")
def test_every_row_that_upstream_collapsed_comes_out_the_same() -> None:
    cases = json.loads((CASES / "rows.json").read_text())
    assert len(cases) == 87
    for case in cases:
        functions = release(case["from"])
        after = apply(functions.text, collapse_splices(functions, case["func"]))
        expected = {frozenset(key.split(", ")): kernel for key, kernel in case["after"].items()}
        came = {frozenset(row.keys): row.kernel for row in entry_in(after, case["func"]).rows}
        shared, kernel = next((keys, kernel) for keys, kernel in came.items() if "MPS" in keys)
        assert kernel == next(kernel for keys, kernel in expected.items() if "MPS" in keys), case["func"]
        # Keys that other changes of the same release added are not this edit's doing.
        had = {key for keys in case["before"] for key in keys.split(", ")}
        assert {"CPU", "CUDA", "MPS"} <= shared <= had
        for keys, other in case["before"].items():
            if not {"CPU", "CUDA", "MPS"} & set(keys.split(", ")):
                assert came[frozenset(keys.split(", "))] == other
        gone, new = changed_lines(functions.text, after)
        assert len(gone) - len(new) in (1, 2)
        assert len(gone) <= 5, case["func"]


@pytest.mark.skipif(not CASES.is_dir(), reason="the rows of past releases are not beside this checkout")
@pytest.mark.parametrize("func", ["linalg_lu_factor", "linalg_lu_factor.out"])
def test_a_table_that_only_repeats_the_default_goes_as_a_whole(func: str) -> None:
    functions = release("2.9.0")
    after = apply(functions.text, drop_splices(functions, func))
    assert entry_in(after, func).rows == ()
    assert release("2.10.0").entry(func).rows == ()
    gone, new = changed_lines(functions.text, after)
    assert [line.strip().partition(":")[0] for line in gone] == ["dispatch", "CompositeImplicitAutograd", "MPS"]
    assert new == []


FACTS = {
    "sgn.out": ("    CPU, CUDA: sgn_out\n    MPS: sgn_out_mps\n", "    CPU, CUDA, MPS: sgn_out\n"),
    "acosh.out": ("    CPU, CUDA: acosh_out\n    MPS: acosh_out_mps\n", "    CPU, CUDA, MPS: acosh_out\n"),
    "mish_backward": (
        "    CPU, CUDA: mish_backward\n    MPS: mish_backward_mps\n",
        "    CPU, CUDA, MPS: mish_backward\n",
    ),
    "sigmoid_backward.grad_input": (
        "    CPU, CUDA: sigmoid_backward_out\n    MPS: sigmoid_backward_out_mps\n",
        "    CPU, CUDA, MPS: sigmoid_backward_out\n",
    ),
    "logical_not.out": (
        "    CPU, CUDA, MTIA: logical_not_out\n    MPS: logical_not_out_mps\n",
        "    CPU, CUDA, MPS, MTIA: logical_not_out\n",
    ),
    "nan_to_num.out": (
        "    CPU, CUDA, MTIA: nan_to_num_out\n    MPS: nan_to_num_out_mps\n",
        "    CPU, CUDA, MPS, MTIA: nan_to_num_out\n",
    ),
    "flip": (
        "    CPU, QuantizedCPU, CUDA, QuantizedCUDA: flip\n    MPS: flip_mps\n",
        "    CPU, QuantizedCPU, CUDA, MPS, QuantizedCUDA: flip\n",
    ),
    "signbit.out": (
        "    CPU: signbit_out\n    CUDA: signbit_out\n    MPS: signbit_out_mps\n",
        "    CPU, CUDA, MPS: signbit_out\n",
    ),
}


@pytest.mark.parametrize("func", FACTS)
def test_collapse_on_the_wheel(func: str) -> None:
    before, after = FACTS[func]
    entry = wheel().entry(func)
    start = wheel().text.index(before, wheel().text.index(entry.schema))
    expected = wheel().text[:start] + after + wheel().text[start + len(before) :]
    assert collapse(wheel().text, func) == expected


def test_repeat_and_pixel_shuffle_lose_their_key() -> None:
    for func in ("repeat", "pixel_shuffle", "pixel_unshuffle"):
        gone, new = changed_lines(wheel().text, drop(wheel().text, func))
        assert gone == [f"    MPS: {func}_mps\n"]
        assert new == []


def test_rows_of_finds_every_row() -> None:
    text = wheel().text
    assert rows_of(text, "prelu_mps") == ["_prelu_kernel"]
    assert rows_of(text, "eye_out_mps") == ["eye.out", "eye.m_out"]
    assert rows_of(text, "no_such_function") == []
    for legacy in {row.kernel for entry in wheel().entries.values() for row in entry.rows if "MPS" in row.keys}:
        count = len(re.findall(rf"^    [\w ,]+: {legacy}(?=\s)", text, re.M))
        assert len(wheel().naming(legacy)) >= 1
        assert (
            sum(len([r for r in wheel().entry(f).rows if r.kernel == legacy]) for f in wheel().naming(legacy)) == count
        )


# --- every entry with a dedicated MPS key ---------------------------------------------------------


def test_every_dedicated_row_collapses_or_is_refused_for_a_true_reason() -> None:
    functions = wheel()
    raw = {entry["func"].partition("(")[0]: entry for entry in yaml.load(functions.text, yaml.CSafeLoader)}
    dedicated = [entry for entry in functions.entries.values() if has_dedicated_mps_row(entry)]
    assert len(dedicated) > 250
    collapsed = 0
    for entry in dedicated:
        rows = {key.strip(): kernel for keys, kernel in raw[entry.func]["dispatch"].items() for key in keys.split(",")}
        possible = rows.get("CPU") is not None and rows.get("CPU") == rows.get("CUDA")
        try:
            after = apply(functions.text, collapse_splices(functions, entry.func))
        except Refusal as refusal:
            assert not possible
            assert refusal.path == functions.path
            assert refusal.line is not None
            assert refusal.hint
            assert_reason_is_true(refusal.message, rows, raw[entry.func])
            continue
        assert possible
        collapsed += 1
        gone, new = changed_lines(functions.text, after)
        assert gone[-1] == f"    MPS: {rows['MPS']}\n"
        assert new[0].strip().endswith(f": {rows['CPU']}")
        assert ", CUDA, MPS" in new[0]
    assert collapsed > 70


def assert_reason_is_true(message: str, rows: dict[str, str], entry: dict[str, object]) -> None:
    if "ufunc_inner_loop" in message:
        assert "ufunc_inner_loop" in entry
    elif "neither CPU nor CUDA" in message:
        assert not {"CPU", "CUDA"} & set(rows)
    elif match := re.search(r"(CPU|CUDA) runs (\S+) \(line \d+\), (CPU|CUDA) has no row", message):
        assert rows[match[1]] == match[2]
        assert match[3] not in rows
    else:
        match = re.search(r"CPU runs (\S+) \(line \d+\), CUDA (\S+) \(line \d+\)", message)
        assert match, message
        assert (rows["CPU"], rows["CUDA"]) == match.groups()
        assert match[1] != match[2]


def torchgen_view(text: str) -> dict[str, tuple[str, frozenset[str]]]:
    """What torchgen's own model makes of the text: operator name -> schema, kernel under every key."""

    class Loader(yaml.CSafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            return {**super().construct_mapping(node, deep=deep), "__line__": node.start_mark.line + 1}

    parsed = parse_native_yaml_struct(yaml.load(text, Loader), parse_tags_yaml(str(PACKAGED / "tags.yaml")))
    return {
        str(function.func.name): (
            str(function.func),
            frozenset(
                f"{key}: {index.index[function.func.name].kernel}"
                for key, index in parsed.backend_indices.items()
                if function.func.name in index.index
            ),
        )
        for function in parsed.native_functions
    }


def test_torchgen_reads_the_result_and_sees_only_those_entries_change() -> None:
    functions = wheel()
    shared = [e.func for e in functions.entries.values() if has_dedicated_mps_row(e) and e.shared_kernel]
    splices = [splice for func in shared for splice in collapse_splices(functions, func)]
    before, after = torchgen_view(functions.text), torchgen_view(apply(functions.text, splices))
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == set(shared)
    shared_rows = {"CPU", "CUDA", "MPS"}
    for name in shared:
        kernels = {row.partition(": ")[0]: row for row in after[name][1]}
        assert len({kernels[key].partition(": ")[2] for key in shared_rows}) == 1


# --- rows of every shape --------------------------------------------------------------------------


def entry_text(*rows: str, extra: str = "") -> str:
    lines = "".join(f"    {row}\n" for row in rows)
    return f"- func: before(Tensor self) -> Tensor\n\n- func: x.out(Tensor self) -> Tensor\n{extra}  dispatch:\n{lines}"


def rows_in(text: str) -> list[str]:
    return [line.removeprefix("    ") for line in text.partition("dispatch:\n")[2].splitlines()]


SHAPES = {
    "typo in the list": (["CPU, CUDA,MTIA: x_out", "MPS: x_mps"], ["CPU, CUDA, MPS,MTIA: x_out"]),
    "odd spacing": (["CPU ,  CUDA : x_out", "MPS : x_mps"], ["CPU ,  CUDA, MPS : x_out"]),
    "more backends": (["CPU, CUDA, MTIA, XPU, HPU: x_out", "MPS: x_mps"], ["CPU, CUDA, MPS, MTIA, XPU, HPU: x_out"]),
    "CUDA first": (["CUDA, CPU: x_out", "MPS: x_mps"], ["CUDA, MPS, CPU: x_out"]),
    "Meta and ZeroTensor": (["ZeroTensor, CPU, CUDA, Meta: x", "MPS: x_mps"], ["ZeroTensor, CPU, CUDA, MPS, Meta: x"]),
    "quantized in the list": (
        ["CPU, QuantizedCPU, CUDA, QuantizedCUDA: x", "MPS: x_mps"],
        ["CPU, QuantizedCPU, CUDA, MPS, QuantizedCUDA: x"],
    ),
    "quantized first": (["QuantizedCUDA, CPU, CUDA: x", "MPS: x_mps"], ["QuantizedCUDA, CPU, CUDA, MPS: x"]),
    "dedicated row first": (["MPS: x_mps", "CPU, CUDA: x"], ["CPU, CUDA, MPS: x"]),
    "other keys between": (
        ["CPU, CUDA: x", "SparseCPU, SparseCUDA, SparseMPS: xs", "MPS: x_mps", "NestedTensorCPU: xn"],
        ["CPU, CUDA, MPS: x", "SparseCPU, SparseCUDA, SparseMPS: xs", "NestedTensorCPU: xn"],
    ),
    "separate lines": (["CPU: x", "CUDA: x", "MPS: x_mps"], ["CPU, CUDA, MPS: x"]),
    "separate lines apart": (["CPU: x", "MPS: x_mps", "Meta: m", "CUDA: x"], ["CPU, CUDA, MPS: x", "Meta: m"]),
    "separate lines, CUDA first": (["MPS: x_mps", "CUDA, XPU: x", "CPU: x"], ["CPU, CUDA, MPS, XPU: x"]),
    "a third line of the function": (["CPU: x", "CUDA: x", "MTIA: x", "MPS: x_mps"], ["CPU, CUDA, MPS: x", "MTIA: x"]),
    "inline comments": (["CPU, CUDA: x  # fast", "MPS: x_mps  # slow"], ["CPU, CUDA, MPS: x  # fast"]),
    "comment of a joined line": (["CPU: x", "CUDA: x  # both", "MPS: x_mps"], ["CPU, CUDA, MPS: x  # both"]),
    "comment lines between": (
        ["# one", "CPU, CUDA: x", "# two", "MPS: x_mps", "# three", "Meta: m"],
        ["# one", "CPU, CUDA, MPS: x", "# two", "# three", "Meta: m"],
    ),
    "comment on the dedicated row": (
        ["CPU, CUDA: x", "# MPS has no strided kernel,", "# so it copies", "MPS: x_mps", "Meta: m"],
        ["CPU, CUDA, MPS: x", "Meta: m"],
    ),
    "blank lines": (["CPU, CUDA: x", "", "MPS: x_mps", "", "Meta: m"], ["CPU, CUDA, MPS: x", "", "", "Meta: m"]),
    "quoted": (['"CPU, CUDA": "x"', "'MPS': 'x_mps'"], ['"CPU, CUDA, MPS": "x"']),
    "dedicated row shared with another key": (
        ["CPU, CUDA: x", "MPS, MTIA: x_mps"],
        ["CPU, CUDA, MPS: x", "MTIA: x_mps"],
    ),
    "dedicated key last of a list": (["CPU, CUDA: x", "MTIA , MPS: x_mps"], ["CPU, CUDA, MPS: x", "MTIA: x_mps"]),
    "same function on its own line": (["CPU, CUDA: x", "MPS: x"], ["CPU, CUDA, MPS: x"]),
    "namespaced": (["CPU, CUDA: at::native::x", "MPS: at::native::x_mps"], ["CPU, CUDA, MPS: at::native::x"]),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "tail", ["", "  autogen: x.y\n  tags: [core, pointwise]\n", "\n- func: after(Tensor self) -> Tensor\n"]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_collapse_shapes(shape: str, tail: str, newline: str) -> None:
    rows, expected = SHAPES[shape]
    before, after = (
        (entry_text(*lines, extra="  structured: True\n") + tail).replace("\n", newline) for lines in (rows, expected)
    )
    assert collapse(before, "x.out") == after
    assert collapse(before.removesuffix(newline), "x.out") == after.removesuffix(newline)


REFUSED = {
    "differ": (["CPU: x_cpu", "CUDA: x_cuda", "MPS: x_mps"], "", 7, "CPU runs x_cpu (line 5), CUDA x_cuda (line 6)"),
    "only CUDA": (["CUDA: x", "MPS: x_mps"], "", 6, "CUDA runs x (line 5), CPU has no row"),
    "only CPU": (["CPU: x", "MPS: x_mps"], "", 6, "CPU runs x (line 5), CUDA has no row"),
    "neither": (["MPS: x_mps"], "", 5, "neither CPU nor CUDA has a row"),
    "composite": (["CompositeExplicitAutograd: x", "MPS: x_mps"], "", 6, "neither CPU nor CUDA has a row"),
    "only quantized": (["QuantizedCPU, QuantizedCUDA: x", "MPS: x_mps"], "", 6, "neither CPU nor CUDA has a row"),
    "shared already": (["CPU, CUDA, MPS: x"], "", 5, "MPS runs x with CPU and CUDA"),
    "shared with CPU": (["CPU, MPS: x", "CUDA: x_cuda"], "", 5, "MPS runs x with CPU"),
    "shared with CUDA on two lines": (["CPU: x", "CUDA, MPS: x"], "", 6, "MPS runs x with CUDA"),
    "twice": (["CPU, CUDA, MPS: x", "MPS: x_mps"], "", 6, "MPS stands twice in the table of x.out, line 5 and 6"),
    "CPU twice": (["CPU, CUDA: x", "CPU: y", "MPS: x_mps"], "", 6, "CPU stands twice"),
    "no MPS row": (["CPU, CUDA: x", "SparseMPS: y"], "", 3, "x.out has no MPS row"),
    "two comments": (["CPU: x  # a", "CUDA: x  # b", "MPS: x_mps"], "", 6, "would lose a comment"),
    "delegate": (["CPU, CUDA: x", "MPS: x_mps"], "  structured_delegate: x.y\n", 3, "x.out delegates to x.y"),
    "ufunc": (["MPS: x_mps"], "  ufunc_inner_loop:\n    Generic: x (Bool)\n", 3, "come from ufunc_inner_loop"),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_collapse_refusals(shape: str) -> None:
    rows, extra, line, reason = REFUSED[shape]
    with pytest.raises(Refusal) as refused:
        collapse(entry_text(*rows, extra=extra), "x.out")
    assert reason in refused.value.message
    assert (refused.value.path, refused.value.line) == ("aten/src/ATen/native/native_functions.yaml", line)
    assert refused.value.hint


def test_flow_tables_are_read_and_not_edited() -> None:
    text = "- func: x(Tensor self) -> Tensor\n  dispatch: {CPU: x, CUDA: x, MPS: x_mps}\n"
    assert rows_of(text, "x_mps") == ["x"]
    with pytest.raises(Refusal, match="not on a line of its own"):
        collapse(text, "x")


def test_an_absent_entry_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(Refusal, match=r"no entry is called eq; there is eq\.Scalar_out, eq\.Scalar, eq\.Tensor_out"):
        collapse(wheel().text, "eq")
    with pytest.raises(Refusal, match=r"no entry is called atn2\.out; there is .*atan2\.out"):
        collapse(wheel().text, "atn2.out")


def test_collapsing_twice_is_refused_as_shared() -> None:
    with pytest.raises(Refusal, match="shared already"):
        collapse(collapse(wheel().text, "sgn.out"), "sgn.out")


ADDED = {
    "own function": (["CPU: a", "CUDA: b"], "x_mps", ["CPU: a", "CUDA: b", "MPS: x_mps"]),
    "own function before other keys": (
        ["CPU, CUDA: a  # c", "SparseCPU: s"],
        "x_mps",
        ["CPU, CUDA: a  # c", "MPS: x_mps", "SparseCPU: s"],
    ),
    "own function beside a composite": (
        ["CompositeExplicitAutograd: x", "SparseCPU: s"],
        "x_mps",
        ["CompositeExplicitAutograd: x", "SparseCPU: s", "MPS: x_mps"],
    ),
    "shared function": (
        ["CPU, CUDA, XPU: x_out", "SparseCPU: s"],
        "x_out",
        ["CPU, CUDA, MPS, XPU: x_out", "SparseCPU: s"],
    ),
    "shared function on two lines": (["CPU: x_out", "CUDA: x_out"], "x_out", ["CPU, CUDA, MPS: x_out"]),
    "the function of CPU alone": (["CPU: x", "CUDA: x_cuda"], "x", ["CPU, MPS: x", "CUDA: x_cuda"]),
    "a name that only a sparse key has": (
        ["CPU, CUDA: a", "SparseCPU: s"],
        "s",
        ["CPU, CUDA: a", "MPS: s", "SparseCPU: s"],
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("structured", ["", "  structured: True\n  structured_inherits: TensorIteratorBase\n"])
@pytest.mark.parametrize("shape", ADDED)
def test_add(shape: str, structured: str, newline: str) -> None:
    rows, kernel, expected = ADDED[shape]
    before, after = (entry_text(*lines, extra=structured).replace("\n", newline) for lines in (rows, expected))
    assert add(before, "x.out", kernel) == after
    assert add(before.removesuffix(newline), "x.out", kernel) == after.removesuffix(newline)


@pytest.mark.parametrize(
    ("rows", "extra", "kernel", "reason"),
    [
        (["CPU, CUDA, MPS: x"], "", "x", "MPS has a row already: CPU, CUDA, MPS: x"),
        (["CPU, CUDA: x"], "", "x-mps", "is not a C\\+\\+ function"),
        (["CPU, CUDA: x"], "  structured_delegate: x.y\n", "x", "delegates to x.y"),
        (["CompositeImplicitAutograd: x"], "", "x", "MPS runs x already"),
        ([], "", "x_mps", "x.out has no rows"),
    ],
)
def test_add_refusals(rows: list[str], extra: str, kernel: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        add(entry_text(*rows, extra=extra), "x.out", kernel)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["CompositeExplicitAutograd: x", "MPS: x_mps"], ["CompositeExplicitAutograd: x"]),
        (["CompositeExplicitAutograd: x", "CPU, MPS, XPU: y"], ["CompositeExplicitAutograd: x", "CPU, XPU: y"]),
        (["MPS: x_mps", "CompositeImplicitAutograd: x_symint"], ["CompositeImplicitAutograd: x_symint"]),
    ],
)
def test_drop(rows: list[str], expected: list[str]) -> None:
    assert rows_in(drop(entry_text(*rows), "x.out")) == expected


def test_drop_is_refused_where_nothing_takes_over() -> None:
    with pytest.raises(Refusal, match="without logit_mps MPS has no kernel for logit: no composite takes over"):
        drop(wheel().text, "logit")


# --- generated tables -----------------------------------------------------------------------------

OTHER_KEYS = ["Meta", "MTIA", "XPU", "HPU", "ZeroTensor", "QuantizedCPU", "SparseCUDA", "SparseMPS", "NestedTensorCPU",
              "CompositeExplicitAutograd", "MkldnnCPU", "SparseCsrMPS"]  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    """Dispatch tables of a well-formed entry: every key once, rows in any order, with comments and blank lines."""
    keys = draw(st.permutations(["CPU", "CUDA", "MPS", *draw(st.lists(st.sampled_from(OTHER_KEYS), unique=True))]))
    lines = []
    while keys:
        size = draw(st.integers(1, min(4, len(keys))))
        names, keys = keys[:size], keys[size:]
        separator = draw(st.sampled_from([", ", ",", " , "]))
        comment = draw(st.sampled_from(["", "", "  # why"]))
        lines.append(f"{separator.join(names)}: {draw(st.sampled_from(['f', 'f', 'g', 'f_mps']))}{comment}")
        lines.extend(draw(st.lists(st.sampled_from(["# a comment", ""]), max_size=1)))
    return lines


@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_collapse_moves_one_key_and_nothing_else(rows: list[str], newline: str, ends_with_newline: bool) -> None:
    tail = "" if not ends_with_newline else newline
    before = entry_text(*rows).replace("\n", newline).removesuffix(newline) + tail
    old = NativeFunctions(before).entry("x.out")
    try:
        after = collapse(before, "x.out")
    except Refusal as refusal:
        mps = old.row("MPS")
        two_comments = "lose a comment" in refusal.message
        assert old.shared_kernel is None or two_comments or (mps and {"CPU", "CUDA"} & set(mps.keys))
        return
    new = NativeFunctions(after).entry("x.out")
    assert old.shared_kernel is not None
    for row in old.rows:
        for key in row.keys:
            now = new.row(key)
            assert now is not None
            assert now.kernel == (old.shared_kernel if key == "MPS" else row.kernel)
    cuda = new.row("CUDA")
    assert cuda is not None
    assert cuda.keys[cuda.keys.index("CUDA") + 1] == "MPS"
    assert after.count("# a comment") == before.count("# a comment")
    assert after.endswith(newline) == before.endswith(newline)
    assert after.partition("dispatch:")[0] == before.partition("dispatch:")[0]


@settings(max_examples=100, deadline=None)
@given(tables())
def test_drop_undoes_add(rows: list[str]) -> None:
    row_of_mps = re.compile(r"\bMPS\b")
    rows = ["CompositeImplicitAutogradNestedTensor: n", "CompositeExplicitAutogradNonFunctional: c",
            *(row for row in rows if not row_of_mps.search(row))]  # fmt: skip
    before = entry_text(*rows)
    assert drop(add(before, "x.out", "own_mps"), "x.out") == before


def test_splices_that_overlap_are_refused() -> None:
    with pytest.raises(Refusal, match="line 2: two edits change the same text"):
        apply("a\nbcd\n", [Splice(2, 4, "x"), Splice(3, 5)])


def test_one_parse_serves_many_edits() -> None:
    splices = [*collapse_splices(wheel(), "sgn.out"), *collapse_splices(wheel(), "acosh.out")]
    assert apply(wheel().text, splices) == collapse(collapse(wheel().text, "acosh.out"), "sgn.out")


def test_what_other_entries_name() -> None:
    functions = wheel()
    for funcs in ([], ["abs"], ["abs", "abs_", "abs.out"], ["sign.out", "add.out", "sgn.out"]):
        left = {row.kernel for entry in functions.entries.values() if entry.func not in funcs for row in entry.rows}
        assert functions.named_besides([*funcs, *funcs]) == left
