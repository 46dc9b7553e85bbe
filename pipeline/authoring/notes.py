"""The comments at the head of a draft: where its facts come from, and what the checks will hold it against."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from pipeline.authoring.facts import Facts
from pipeline.authoring.reference import Reference
from pipeline.authoring.shape import Pattern, Shape
from pipeline.changeset import EditKind
from pipeline.edits.opinfos import OpInfo
from pipeline.exec_kernel.dtypes import Dtype
from pipeline.exec_kernel.names import Helper, Request, askable
from pipeline.source import NATIVE_FUNCTIONS

_WIDTHS = {"kernel": 76, "host": 116}
_TITLE = "Draft of {}: fill in what says TODO, then take these notes out."
_INPUTS = (
    "special values of every dtype (NaN, infinities, both zeros, subnormals, extremes, the numbers in this file and "
    "their neighbours) crossed with each other, OpInfo's samples, empty and 0-dim tensors, every layout"
)
_RIGHT = (
    "Right is what {} gives on the CPU: equal for integers and bool (numerics/value), a few roundings of float32 "
    "otherwise (numerics/relative, numerics/imprecise), with the same NaN, infinities and signs of zero "
    "(numerics/nan, numerics/infinity, numerics/sign-of-zero)."
)
_WRITTEN = "f behind floating-point literals (style/unsuffixed-literal), metal::precise (style/fast-math)"
_NARROW = "float_t or opmath_t for half and bfloat (style/opmath)"


def kernel_notes(facts: Facts, reference: Reference, shape: Shape) -> str:
    """For the head of the `.metal` file."""
    entry = facts.entry
    kind = "" if facts.kind == "other" else f"; {facts.kind}"
    return _comment(
        _WIDTHS["kernel"],
        _TITLE.format(facts.operator.name),
        [
            ("operator", f"{entry.schema} ({_file(NATIVE_FUNCTIONS)}:{entry.line}){kind}"),
            ("CPU", "; ".join(_cpu(reference, shape))),
            *(("OpInfo", text) for text in _opinfos(facts.opinfos, reference)),
            *(("legacy", text) for text in _legacy(facts)),
            ("asked for", f"{_asked_for(shape)} (contract/missing-kernel, contract/never-asked)"),
            ("written", ", ".join([_WRITTEN, *([_NARROW] if _is_narrow(shape) else [])])),
            ("checked", f"`invoke check --op {facts.operator.name}` tries {_INPUTS}. {_right(reference)}"),
        ],
    )


def host_notes(facts: Facts, shape: Shape) -> str:
    """For the head of the `.mm` file."""
    edits = facts.change.edits
    gone = ", ".join(edit.what for edit in edits if edit.kind is EditKind.LEGACY)
    return _comment(
        _WIDTHS["host"],
        _TITLE.format(facts.operator.name),
        [
            *_registered(facts, shape),
            ("dtypes", _DTYPES),
            *_bound(shape),
            *(("row", edit.what) for edit in edits if edit.kind is EditKind.ROW),
            *([("goes", f"{gone} (completeness/legacy-definition-left)")] if gone else []),
            *dict.fromkeys(("test", edit.what) for edit in edits if edit.kind is EditKind.EXPECTATION),
            *(("stays", left) for left in facts.change.left),
            ("checked", _CHECKED),
        ],
    )


_DTYPES = (
    "refuse what no kernel is registered for (contract/unguarded-dtype) and nothing that the CPU serves and OpInfo "
    "claims (contract/narrower-dtypes)"
)
_CHECKED = (
    "rows: torchgen reads the edited file, and nothing else changed in it. completeness: what goes is gone, and "
    "nothing that MPS runs here reaches MPSGraph (completeness/graph-kept). host: clang reads the file for arm64 macOS "
    "(host/type-error, host/missing-include). style: clang-format, includes, no scalar truncated. numerics: this code "
    "is followed to the kernels it asks for."
)


def _bound(shape: Shape) -> Iterator[tuple[str, str]]:
    """What code has to keep to that binds arguments and counts threads itself."""
    if shape.pattern is not Pattern.HELPER:
        yield (
            "binds",
            "every argument with the type that the kernel reads (contract/argument-size, contract/element-type), and "
            "no threads where there are no elements (contract/empty-dispatch)",
        )
    if shape.pattern is Pattern.ITERATOR:
        yield "splits", "an iterator that 32 bits cannot index (contract/large-iterator)"
    if any(number.is_scalar for number in shape.numbers) and not shape.only_floats:
        yield "numbers", "in the tensors' dtype (style/truncated-scalar, style/rounded-scalar)"


def _comment(width: int, title: str, entries: Iterable[tuple[str, str]]) -> str:
    lines = [title, ""]
    for name, text in entries:
        lines += textwrap.wrap(
            text,
            width,
            initial_indent=f"{name:<11}",
            subsequent_indent=" " * 11,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(f"// {line}".rstrip() for line in lines)


def _cpu(reference: Reference, shape: Shape) -> Iterator[str]:
    if not reference.overload:
        yield "the installed torch has no such operator: the dtypes are those that OpInfo claims"
        return
    groups: dict[str, list[str]] = {}
    for each in shape.registered:
        result = "the same dtype" if each.result is each.source else each.result.torch_name
        if each.source in reference.results:
            groups.setdefault(result, []).append(each.source.torch_name)
    for result, names in groups.items():
        yield f"{', '.join(names)} give {result}"
    borrowed = [each.source.torch_name for each in shape.registered if each.source not in reference.results]
    if borrowed and reference.results:
        yield f"it has no {', '.join(borrowed)}, which MPS has and the check answers from the wider dtype"
    if not reference.results:
        yield f"{reference.overload} refused every dtype when it was tried: correct the dtypes by hand"


def _opinfos(opinfos: Sequence[OpInfo], reference: Reference) -> Iterator[str]:
    twins = [each.name for each in opinfos if each.name.startswith("_refs.")]
    for opinfo in opinfos:
        if opinfo.name.startswith(("_refs.", "_foreach_")):
            continue
        names = opinfo.dtypes if opinfo.mps_dtypes is None else opinfo.mps_dtypes
        claimed = {dtype for dtype in Dtype if dtype.on_mps and dtype.torch_name in (names or ())}
        text = f"{opinfo.test_name} ({_file(opinfo.path)}:{opinfo.line})"
        more = sorted(dtype.torch_name for dtype in claimed - reference.results.keys())
        fewer = sorted(dtype.torch_name for dtype in reference.results.keys() - claimed)
        if reference.results and claimed and more:
            text += f"; claims {', '.join(more)} beyond the CPU"
        if reference.results and claimed and fewer:
            text += f"; leaves out {', '.join(fewer)}"
        yield text
    if twins:
        yield f"references: {', '.join(dict.fromkeys(twins))}"


def _legacy(facts: Facts) -> Iterator[str]:
    for legacy in facts.legacy:
        way = f", a graph by way of {', '.join(legacy.way)}" if legacy.way else ""
        yield f"{legacy.function} ({_file(legacy.path)}:{legacy.line}){way}"
    refused = {
        f'"{each.message}" ({_file(each.path)}:{each.line})' for legacy in facts.legacy for each in legacy.refused
    }
    for text in sorted(refused):
        yield f"refuses: {text}"


def _asked_for(shape: Shape) -> str:
    """The host names, for one dtype."""
    if not shape.registered:
        return "nothing"
    each = shape.registered[0]
    name = f"{shape.base}_{each.source.metal}"
    match shape.pattern:
        case Pattern.HELPER:
            names = askable(_request(shape), (each.source,) * len(shape.inputs), each.result, each.common)
            return f"for {each.source.torch_name} {', '.join(sorted(names))}, and more for mixed and other dtypes"
        case Pattern.ITERATOR:
            forms = ("dense", "strided", *(("strided_cast",) if shape.casts else ()))
            name = ", ".join(f"{shape.base}_{form}_{each.source.metal}" for form in forms)
        case Pattern.REDUCTION:
            name = f"{shape.base}_{each.result.metal}_{each.source.metal}"
        case Pattern.ELEMENTS if not shape.same:
            name = f"{shape.base}_{each.result.metal}_{each.source.metal}"
        case _:
            pass
    return f"for {each.source.torch_name} {name}"


def _request(shape: Shape) -> Request:
    several = len(shape.numbers) > 1
    helper = Helper[f"{shape.arity}_WITH_PARAMS" if several else shape.arity]
    scalar = None
    if several:
        scalar = shape.params if shape.only_floats else f"{shape.params}_float"
    elif shape.numbers:
        scalar = "long" if shape.numbers[0].is_integer else shape.registered[0].opmath.metal
    return Request(helper, shape.base, scalar)


def _is_narrow(shape: Shape) -> bool:
    return any(each.source in (Dtype.FLOAT16, Dtype.BFLOAT16) for each in shape.registered)


def _right(reference: Reference) -> str:
    return _RIGHT.format(reference.overload or "the operator")


def _registered(facts: Facts, shape: Shape) -> Iterator[tuple[str, str]]:
    if facts.stub is not None:
        declared = f"{facts.stub.include}:{facts.stub.line}"
        yield "stub", f"{facts.stub.name}({', '.join(facts.stub.parameters)}), {declared} (contract/signature)"
    else:
        names = ", ".join(function.name for function in facts.functions)
        yield "defines", f"{names}: CPU and CUDA share no function, so the rows stay"
    yield "runs by", _WAYS[shape.pattern] if shape.pattern is not Pattern.HELPER else f"{shape.helper}"


_WAYS = {
    Pattern.ITERATOR: "driving the iterator: no exec helper of torch 2.13 takes these operands and numbers",
    Pattern.REDUCTION: "one threadgroup for each element of the output",
    Pattern.ROWS: "one threadgroup for each row along dim",
    Pattern.ELEMENTS: "one thread for each element of a dense output",
}


def _file(path: str) -> str:
    return path.rsplit("/", 1)[-1]
