"""Expectations on the real test files of the torch wheel, and on files of the older layouts."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pipeline.edits.expectation_reader import Expectation, Kind
from pipeline.edits.expectations import TEST_MPS, Expectations, expectation_files, remove
from pipeline.edits.opinfos import makes_opinfo, read_dtypes, read_opinfo
from pipeline.errors import Refusal
from pipeline.source import COMMON_MPS, OPINFOS, MemoryTree


@cache
def wheel_files() -> dict[str, bytes]:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    site = Path(spec.origin).parents[1]
    folder = site / "torch" / "testing" / "_internal"
    paths = [folder / "common_mps.py", folder / "common_methods_invocations.py"]
    paths.extend(sorted((folder / "opinfo" / "definitions").glob("*.py")))
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in paths}


@cache
def wheel() -> Expectations:
    return Expectations(wheel_files())


def removed_lines(before: bytes, after: bytes) -> list[str]:
    """What a removal deleted; it must add nothing."""
    diff = list(difflib.ndiff(*(_near_the_change(before, after))))
    assert not [line for line in diff if line.startswith("+ ")]
    return [line[2:].strip() for line in diff if line.startswith("- ")]


def _near_the_change(before: bytes, after: bytes) -> tuple[list[str], list[str]]:
    old, new = before.decode().splitlines(), after.decode().splitlines()
    start = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    tail = next(i for i, (a, b) in enumerate(zip(reversed(old), reversed(new), strict=False)) if a != b)
    tail = min(tail, len(new) - start, len(old) - start)
    return old[start : len(old) - tail], new[start : len(new) - tail]


def short(expectation: Expectation) -> tuple[str, str | None, tuple[str, ...] | None]:
    return expectation.key, expectation.test, expectation.dtypes


# --- finding --------------------------------------------------------------------------------------


def test_every_mention_of_the_device_in_an_opinfo_is_found() -> None:
    for path, source in wheel_files().items():
        if path == COMMON_MPS:
            continue
        decorators = [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "DecorateInfo"
            and any(k.arg == "device_type" and ast.unparse(k.value) == "'mps'" for k in node.keywords)
        ]  # fmt: skip
        entries = [entry for entry in wheel().entries if entry.path == path]
        assert {(node.lineno, node.col_offset) for node in decorators} <= {(e.line, e.column) for e in entries}
        claims = source.count(b"dtypesIfMPS=")
        assert sum(entry.kind is Kind.DTYPES for entry in entries) == claims


def test_every_entry_of_the_lists_is_found() -> None:
    assert Counter(entry.container for entry in wheel().entries if entry.path == COMMON_MPS) == {
        "UNIMPLEMENTED_XFAILLIST": 111,
        "UNIMPLEMENTED_XFAILLIST_SPARSE": 5,
        "UNDEFINED_XFAILLIST": 12,
        "ON_MPS_XFAILLIST": 6,
        "MACOS_BEFORE_14_4_XFAILLIST": 1,
        "EMPTY_OPS_SKIPLIST": 6,
        "SKIPLIST": 2,
        "XFAILLIST_GRAD": 42,
        "SKIPLIST_GRAD": 8,
        "XFAILLIST": 9,
    }


def test_variants_twins_and_aliases_belong_to_the_operator() -> None:
    def keys(*operators: str) -> set[str]:
        return {entry.key for entry in wheel().concerning(*operators)}

    assert {"logspace", "logspacetensor_overload", "_refs.logspace", "_refs.logspacetensor_overload"} <= keys(
        "logspace"
    )
    assert {"nn.functional.mish", "_refs.nn.functional.mish"} == keys("mish_backward")
    assert keys("special_airy_ai") == keys("special.airy_ai") == {"special.airy_ai"}
    assert keys("nan_to_num.out") == keys("nan_to_num") == keys("nan_to_num_") == {"nan_to_num"}
    assert keys("no_such_operator") == set()
    assert keys("symeig") == {"symeig"}


def test_an_entry_says_where_it_stands_and_why() -> None:
    out, warning = (entry for entry in wheel().concerning("nan_to_num") if entry.kind is Kind.XFAIL)
    assert (out.path, out.container, out.test_class, out.test, out.dtypes) == (
        OPINFOS, "skips", "TestCommon", "test_out", None)  # fmt: skip
    line = wheel_files()[OPINFOS].splitlines()[out.line - 1].decode()
    assert line[out.column :].startswith("DecorateInfo(unittest.expectedFailure, 'TestCommon', 'test_out'")
    assert "The values for attribute 'shape' do not match" in out.reason
    assert warning.reason == out.reason
    integers = next(entry for entry in wheel().concerning("mish") if entry.path == COMMON_MPS)
    assert integers.dtypes == ("int32", "uint8", "bool", "int8", "int16")
    assert str(integers).endswith(
        "nn.functional.mish: expected failure of TestConsistency for int32, uint8, bool, int8, int16"
    )


def test_complex_is_expected_to_fail_where_the_allow_list_lacks_a_name() -> None:
    found = [entry for entry in wheel().concerning("pow", "acosh", "frac") if entry.kind is Kind.COMPLEX]
    # acosh is listed, and frac has no complex dtypes.
    assert {entry.key for entry in found} == {"pow", "__rpow__"}
    assert {(entry.dtypes, entry.container) for entry in found} == {(("complex64",), "SUPPORTED_COMPLEX_OPS")}


def test_stale_keys_match_no_opinfo_at_run_time() -> None:
    """Asks the OpInfo database itself, in a process of its own."""
    script = (
        "from torch.testing._internal.common_methods_invocations import op_db\n"
        "print(*(op.name + op.variant_test_name for op in op_db), sep='\\n')"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    real = set(ran.stdout.split())
    stale = {entry.key for entry in wheel().stale}
    assert {"symeig", "mat", "segment_reduce", "masked.scatter", "sparse.mm"} <= stale
    listed = {entry.key for entry in wheel().entries if entry.path == COMMON_MPS}
    assert stale == listed - real


def test_sets_of_dtypes_are_read_as_torch_reads_them() -> None:
    torch = importlib.import_module("torch")
    common_dtype = importlib.import_module("torch.testing._internal.common_dtype")
    names = ["floating_types", "all_types", "all_types_and_complex", "floating_and_complex_types", "integral_types",
             "complex_types", "all_types_and_half", "floating_types_and_half", "all_mps_types", "empty_types",
             "all_types_complex_float8", "float8_types", "double_types"]  # fmt: skip
    for name in names:
        for call in (f"{name}()", f"{name}_and(torch.bool, torch.half)"):
            make = getattr(common_dtype, call.partition("(")[0], None)
            if make is None:
                continue
            arguments = [torch.bool, torch.half] if "_and(" in call else []
            real = {str(dtype).removeprefix("torch.") for dtype in make(*arguments)}
            assert set(read_dtypes(ast.parse(call, mode="eval").body) or ()) == real, call


# --- removing -------------------------------------------------------------------------------------


def test_the_expectations_of_nan_to_num() -> None:
    after = wheel().remove(wheel().concerning("nan_to_num"))
    assert removed_lines(wheel_files()[OPINFOS], after[OPINFOS]) == [
        "# AssertionError: The values for attribute 'shape' do not match: torch.Size([20]) != torch.Size([0]).",
        "DecorateInfo(unittest.expectedFailure, 'TestCommon', 'test_out', device_type='mps'),",
        "DecorateInfo(unittest.expectedFailure, 'TestCommon', 'test_out_warning', device_type='mps'),",
    ]


def test_some_dtypes_of_an_entry() -> None:
    entry = next(entry for entry in wheel().concerning("mish") if entry.path == COMMON_MPS)
    after = wheel().remove([replace(entry, dtypes=("uint8", "int16"))])
    assert removed_lines(wheel_files()[COMMON_MPS], after[COMMON_MPS]) == ["torch.uint8,", "torch.int16,"]
    everything = wheel().remove([entry])
    assert removed_lines(wheel_files()[COMMON_MPS], everything[COMMON_MPS]) == [
        '"nn.functional.mish": [', "torch.int32,", "torch.uint8,", "torch.bool,", "torch.int8,", "torch.int16,", "],"
    ]  # fmt: skip


def test_an_entry_that_loses_its_dtypes_one_by_one_goes() -> None:
    entry = next(entry for entry in wheel().concerning("mish") if entry.path == COMMON_MPS)
    assert entry.dtypes is not None
    pieces = [replace(entry, dtypes=(dtype,)) for dtype in entry.dtypes]
    assert wheel().remove(pieces) == wheel().remove([entry])


def test_an_entry_for_all_dtypes_cannot_lose_some() -> None:
    entry = next(entry for entry in wheel().concerning("take") if entry.kind is Kind.XFAIL)
    assert entry.dtypes is None
    with pytest.raises(Refusal, match="take has no plain list from which to take float32; remove it as a whole"):
        wheel().remove([replace(entry, dtypes=("float32",))])


def test_the_allow_list_takes_a_name_for_all_complex_dtypes_or_not_at_all() -> None:
    source = b"op_db = [OpInfo('x', dtypes=complex_types_and(torch.chalf))]\n"
    lists = b"def mps_ops_modifier(ops):\n    SUPPORTED_COMPLEX_OPS = {\n        'y',\n    }\n"
    found = Expectations({OPINFOS: source, COMMON_MPS: lists})
    (entry,) = found.concerning("x")
    assert entry.dtypes == ("complex32", "complex64")
    with pytest.raises(Refusal, match="no plain list from which to take complex64"):
        found.remove([replace(entry, dtypes=("complex64",))])
    pieces = [replace(entry, dtypes=(dtype,)) for dtype in entry.dtypes]
    assert found.remove(pieces)[COMMON_MPS].count(b"        'x',\n        'y',\n") == 1


def test_a_container_that_runs_empty_goes_with_what_asks_it() -> None:
    entry = next(entry for entry in wheel().concerning("fft.hfft2") if "MACOS" in entry.container)
    after = wheel().remove([entry])[COMMON_MPS]
    assert b"MACOS_BEFORE_14_4_XFAILLIST" not in after
    assert b"import MACOS_VERSION" not in after
    compile(after, COMMON_MPS, "exec")
    gone = removed_lines(wheel_files()[COMMON_MPS], after)
    assert "if (" in gone
    assert "from .common_utils import MACOS_VERSION" in gone
    assert not [line for line in gone if "XFAILLIST" in line and "MACOS" not in line]


def test_complex_is_allowed_in_alphabetical_place() -> None:
    entry = next(e for e in wheel().concerning("pow") if e.kind is Kind.COMPLEX and e.key == "pow")
    after = wheel().remove([entry])[COMMON_MPS].decode().splitlines()
    place = after.index('            "pow",')
    assert after[place - 1].strip() == '"positive",'
    del after[place]
    assert after == wheel_files()[COMMON_MPS].decode().splitlines()


@pytest.mark.parametrize("chosen", ["first", "all"])
def test_only_the_chosen_elements_go(chosen: str) -> None:
    """One expectation of every OpInfo and list entry, or all of them: the syntax trees differ by nothing else."""
    by_owner: dict[tuple[str, str, str], list[Expectation]] = {}
    for entry in wheel().entries:
        by_owner.setdefault((entry.path, entry.key, entry.container), []).append(entry)
    pick: dict[str, Callable[[list[Expectation]], Iterable[Expectation]]] = {
        "first": lambda entries: entries[:1],
        "all": lambda entries: entries,
    }
    doomed = [
        entry
        for entries in by_owner.values()
        for entry in pick[chosen](entries)
        if not entry.in_list or entry.container == "UNIMPLEMENTED_XFAILLIST"
    ]
    after = wheel().remove(doomed)
    for path, source in after.items():
        before = ast.parse(wheel_files()[path])
        _delete(before, {(entry.line, entry.column) for entry in doomed if entry.path == path})
        for old_part, new_part in zip(_parts(before), _parts(ast.parse(source)), strict=True):
            assert ast.dump(old_part) == ast.dump(new_part)
        old, new = (Counter(text.decode().splitlines()) for text in (wheel_files()[path], source))
        for line in new - old:
            assert any(_words(line) <= _words(gone) for gone in old - new), line


def _words(line: str) -> set[str]:
    return set(re.findall(r"\w+", line))


def _delete(tree: ast.Module, starts: set[tuple[int, int]]) -> None:
    def stays(node: ast.expr | ast.keyword | None) -> bool:
        return node is None or (node.lineno, node.col_offset) not in starts

    emptied = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and not all(map(stays, node.elts)):
            node.elts = [item for item in node.elts if stays(item)]
            emptied |= {node} if not node.elts else set()
        elif isinstance(node, ast.Dict):
            pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if stays(key)]
            node.keys, node.values = [key for key, _ in pairs], [value for _, value in pairs]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [each for each in node.keywords if stays(each) and each.value not in emptied]


def _parts(tree: ast.Module) -> list[ast.expr]:
    """The OpInfos and lists of a file, in its order."""
    named = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]
    lists = [value for value in named if isinstance(value, ast.Dict | ast.Set)]
    return [*lists, *(node for node in ast.walk(tree) if isinstance(node, ast.Call) and makes_opinfo(node))]


@pytest.mark.parametrize("path", wheel_files())
def test_no_opinfo_is_passed_over(path: str) -> None:
    source = wheel_files()[path]
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and makes_opinfo(node)]
    assert list(Expectations({path: source}).opinfos) == [made for call in calls if (made := read_opinfo(call, path))]


def test_opinfos_and_lists_within_functions() -> None:
    source = b"""
@register(OpInfo("by_decorator", decorators=[expectedFailureMPS]))
def plain(): pass

def outer():
    def sample_inputs(op): return [op(1)]
    def inner(extra=make_unary_opinfo("by_maker", decorators=[expectedFailureMPS])):
        return [OpInfo("deep", decorators=[expectedFailureMPS])]

class Lists:
    def mps_any_modifier(ops):
        XFAILLIST = {"deep": None}
"""
    names = [entry.name for entry in Expectations({"x.py": source}).entries]
    assert names == ["by_decorator", "by_maker", "deep", "deep"]


def test_an_expectation_of_another_text_is_refused() -> None:
    entry = next(iter(wheel().concerning("mish")))
    with pytest.raises(Refusal, match=r"common_methods_invocations.py:1: no such expectation of nn.functional.mish"):
        wheel().remove([replace(entry, line=1)])
    with pytest.raises(Refusal, match="elsewhere.py: the file is not among those searched"):
        wheel().remove([replace(entry, path="elsewhere.py")])
    with pytest.raises(Refusal, match="has no plain list from which to take float32"):
        wheel().remove([replace(entry, dtypes=("float32",))])


def test_a_file_that_is_not_python_is_refused() -> None:
    with pytest.raises(Refusal, match=r"x\.py:2: not valid Python"):
        Expectations({"x.py": b"a = 1\nb = (\n"})


# --- other layouts --------------------------------------------------------------------------------

OLD_TEST_FILE = b"""
from torch.testing._internal.common_utils import MACOS_VERSION, run_tests
from torch.testing._internal.common_device_type import (
    expectedFailureMPS,
    ops,
)

def mps_ops_modifier(ops):
    AFTER_MACOS_14_SUPPORTED_COMPLEX_OPS = {
        'abs',
        'exp',
    }
    XFAILLIST = {
        # Unsupported dtypes \xe2\x80\x94 for now
        'atan2': [torch.int64],
        'round': [torch.int64, *([torch.bfloat16] if MACOS_VERSION > 14.0 else [])],

        # raises
        'sign': None,
    }
    UNSUPPORTED_COMPLEX_OPS = {
        'sgn',
    }

    if MACOS_VERSION < 14.0:
        XFAILLIST.update({
            'logit': [torch.float16],
        })

    for op in ops:
        key = op.name + op.variant_test_name
        if key in XFAILLIST:
            addDecorator(op, DecorateInfo(unittest.expectedFailure, dtypes=XFAILLIST[key]))
        if key in UNSUPPORTED_COMPLEX_OPS:
            addDecorator(op, DecorateInfo(unittest.expectedFailure, dtypes=[torch.complex64]))
"""
OPINFO_FILE = b"""
from torch.testing._internal.common_device_type import expectedFailureMPS, skipMPS, toleranceOverride, tol

op_db = [
    UnaryUfuncInfo('sign', dtypes=all_types_and_complex_and(torch.half), decorators=[skipMPS]),
    BinaryUfuncInfo('atan2', aliases=('arctan2',), dtypes=floating_types(), skips=(
        DecorateInfo(unittest.skip("Wrong on MPS"), 'TestCommon', 'test_numpy_ref_mps'),
        DecorateInfo(unittest.skip("Crashes"), 'TestConsistency'),
        DecorateInfo(expectedFailureMPS, 'TestCommon', 'test_out'),
        DecorateInfo(toleranceOverride({torch.half: tol(atol=1, rtol=1)}), 'TestCommon', device_type="mps"),
        DecorateInfo(unittest.skip("elsewhere"), 'TestCommon', device_type="cuda"),
    )),
    OpInfo('logit', dtypes=floating_types()),
    OpInfo('round', dtypes=floating_types()),
    OpInfo('sgn', dtypes=complex_types()),
]
python_ref_db = [
    ElementwiseBinaryPythonRefInfo("_refs.arc", torch_opinfo_name="atan2",
        skips=[DecorateInfo(unittest.expectedFailure, "TestCommon", "test_python_ref", device_type="mps")]),
]
"""


def old_files() -> dict[str, bytes]:
    return {TEST_MPS: OLD_TEST_FILE, OPINFOS: OPINFO_FILE}


def test_files_of_a_tree() -> None:
    tree = MemoryTree({**old_files(), "torch/testing/_internal/opinfo/definitions/special.py": b"", "setup.py": b""})
    assert set(expectation_files(tree)) == {TEST_MPS, OPINFOS, "torch/testing/_internal/opinfo/definitions/special.py"}


def test_lists_in_the_test_file_itself() -> None:
    found = Expectations(old_files())
    assert [(e.container, e.dtypes, e.reason) for e in found.concerning("atan2") if e.in_list] == [
        ("XFAILLIST", ("int64",), "Unsupported dtypes — for now")
    ]
    assert [e.container for e in found.concerning("logit")] == ["XFAILLIST"]
    deny = found.concerning("sgn")
    assert [(e.kind, e.container, e.dtypes) for e in deny] == [
        (Kind.COMPLEX, "AFTER_MACOS_14_SUPPORTED_COMPLEX_OPS", ("complex64",)),
        (Kind.XFAIL, "UNSUPPORTED_COMPLEX_OPS", ("complex64",)),
    ]
    after = remove(old_files(), [*found.concerning("logit"), deny[1]])[TEST_MPS].decode()
    assert "'logit'" not in after
    assert "UNSUPPORTED_COMPLEX_OPS" not in after
    compile(after, TEST_MPS, "exec")


def test_a_conditional_dtype_stays_until_the_entry_goes() -> None:
    found = Expectations(old_files())
    entry = next(e for e in found.concerning("round") if e.in_list)
    after = found.remove([replace(entry, dtypes=("int64",))])[TEST_MPS]
    assert b"'round': [*([torch.bfloat16] if MACOS_VERSION > 14.0 else [])]," in after
    with pytest.raises(Refusal, match="no plain list from which to take bfloat16"):
        found.remove([replace(entry, dtypes=("bfloat16",))])
    assert b"'round'" not in found.remove([entry])[TEST_MPS]


def test_decorators_that_name_mps_in_another_way() -> None:
    found = Expectations(old_files())
    entries = [e for e in found.concerning("arctan2") if not e.in_list]
    assert [(e.kind, e.test_class, e.test) for e in entries] == [
        (Kind.SKIP, "TestCommon", "test_numpy_ref_mps"),
        (Kind.SKIP, "TestConsistency", None),
        (Kind.XFAIL, "TestCommon", "test_out"),
        (Kind.TOLERANCE, "TestCommon", None),
        (Kind.XFAIL, "TestCommon", "test_python_ref"),
    ]
    assert entries[-1].key == "_refs.arc"
    assert [(e.kind, e.container) for e in found.concerning("sign") if not e.in_list] == [(Kind.SKIP, "decorators")]


def test_unused_imports_go() -> None:
    found = Expectations(old_files())
    entries = [e for e in (*found.concerning("atan2"), *found.concerning("sign")) if not e.in_list]
    after = found.remove(entries)[OPINFOS].decode()
    assert after.startswith("\n\nop_db")
    assert 'DecorateInfo(unittest.skip("elsewhere")' in after
    assert "UnaryUfuncInfo('sign', dtypes=all_types_and_complex_and(torch.half))," in after
    assert 'torch_opinfo_name="atan2")' in after
    compile(after, OPINFOS, "exec")
    one = found.remove([e for e in entries if e.kind is Kind.TOLERANCE])[OPINFOS].decode()
    assert "import expectedFailureMPS, skipMPS\n" in one


def test_removing_everything_of_an_operator_leaves_nothing_to_find() -> None:
    files = old_files()
    for operator in ("atan2", "sign", "sgn", "logit", "round"):
        files = remove(files, Expectations(files).concerning(operator))
        assert Expectations(files).concerning(operator) == ()
