"""Edits of native_functions.yaml's dispatch tables: which row serves MPS.

Each edit comes twice: `collapse(text, func)` on one text, and `collapse_splices(functions, func)` on a parsed
NativeFunctions, so that hundreds of edits cost one parse. What cannot be said in one right way is refused.
"""

from __future__ import annotations

import re

from pipeline.edits.splice import Splice, apply, delete_lines, line_at, line_start
from pipeline.errors import Refusal
from pipeline.native_functions import Entry, NativeFunctions, Row, Span

# The composite keys whose kernels serve MPS where it has none of its own (c10/core/DispatchKeySet.cpp).
COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


def collapse(text: str, func: str) -> str:
    """The dedicated MPS key of `func` (`atan2.out`) joins the row that CPU and CUDA share. Raises Refusal."""
    return apply(text, collapse_splices(NativeFunctions(text), func))


def add(text: str, func: str, kernel: str) -> str:
    """MPS gets `kernel`: it joins the CPU or CUDA row that names this function, else gets a row of its own.

    These are the forms of upstream's guide: a function of its own (`MPS: x_mps`), the shared function, and the shared
    function of a structured entry, whose `structured_inherits: TensorIteratorBase` stands. Raises Refusal.
    """
    return apply(text, add_splices(NativeFunctions(text), func, kernel))


def drop(text: str, func: str) -> str:
    """Delete the MPS key, so that MPS runs the entry's composite kernel. Raises Refusal where there is none."""
    return apply(text, drop_splices(NativeFunctions(text), func))


def rows_of(text: str, legacy_function: str) -> list[str]:
    """Every operator with a row that names this function, whatever the key, in the file's order."""
    return NativeFunctions(text).naming(legacy_function)


def collapse_splices(functions: NativeFunctions, func: str) -> list[Splice]:
    """As `collapse`. A key that shares the dedicated row, `MPS, MTIA: f_mps`, keeps it: only MPS moves."""
    entry = _editable_entry(functions, func)
    mps = _mps_row(functions, entry)
    if mps is None:
        raise _refusal(functions, entry, f"{func} has no MPS row", "nothing to collapse; add gives MPS a row")
    partners = [key for key in ("CPU", "CUDA") if key in mps.keys]
    if partners:
        raise _refusal(functions, mps, f"shared already: MPS runs {mps.kernel} with {' and '.join(partners)}",
                       "where it still runs MPSGraph, the body of the stub changes, not the row")  # fmt: skip
    if entry.ufunc_inner_loop:
        raise _refusal(functions, entry, f"no shared row: CPU and CUDA of {func} come from ufunc_inner_loop",
                       f"{mps.kernel} keeps its row and gets a Metal body")  # fmt: skip
    if entry.shared_kernel is None:
        raise _refusal(functions, mps, f"no shared row: {_unshared(entry)}", _way_without_shared_row(entry, mps))
    joined, merged_away = _join_shared_row(functions, entry)
    taken, gone = _take_out_mps(functions, mps)
    return [*joined, *taken, *delete_lines(functions.text, merged_away + gone)]


def add_splices(functions: NativeFunctions, func: str, kernel: str) -> list[Splice]:
    """As `add`."""
    entry = _editable_entry(functions, func)
    mps = _mps_row(functions, entry)
    if mps is not None:
        raise _refusal(functions, mps, f"MPS has a row already: {mps}", "collapse or drop changes it")
    if not re.fullmatch(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*", kernel):
        raise _refusal(functions, entry, f"{kernel!r} is not a C++ function", "write its name alone, as in sign_out")
    if not entry.rows:
        raise _refusal(functions, entry, f"{func} has no rows: every device runs what it is composed of, or nothing",
                       "give MPS the operators it calls instead")  # fmt: skip
    for row in entry.rows:
        if row.kernel == kernel and any(key in COMPOSITES for key in row.keys):
            raise _refusal(functions, row, f"MPS runs {kernel} already, a composite kernel", "name a kernel of its own")
    if entry.shared_kernel == kernel:
        joined, merged_away = _join_shared_row(functions, entry)
        return [*joined, *delete_lines(functions.text, merged_away)]
    for key in ("CUDA", "CPU"):
        row_of_key = entry.row(key)
        if row_of_key is not None and row_of_key.kernel == kernel:
            return [_insert_after(functions, row_of_key, key)]
    neighbour = entry.row("CUDA") or entry.row("CPU") or entry.rows[-1]
    return [_own_row_below(functions, neighbour, kernel)]


def drop_splices(functions: NativeFunctions, func: str) -> list[Splice]:
    """As `drop`. A table that would only repeat the default goes as a whole: torchgen refuses such a table."""
    entry = _editable_entry(functions, func)
    mps = _mps_row(functions, entry)
    if mps is None:
        raise _refusal(functions, entry, f"{func} has no MPS row", "nothing to drop")
    if not any(entry.row(key) for key in COMPOSITES):
        raise _refusal(functions, mps, f"without {mps.kernel} MPS has no kernel for {func}: no composite takes over",
                       "only entries with a composite kernel can lose the key")  # fmt: skip
    left = [row for row in entry.rows if row is not mps]
    if mps.keys == ("MPS",) and len(left) == 1 and left[0].keys == ("CompositeImplicitAutograd",):
        root = func.partition(".")[0]
        if left[0].kernel in (root, f"{root}_out"):
            assert entry.dispatch_span is not None
            return delete_lines(functions.text, [entry.dispatch_span])
    taken, gone = _take_out_mps(functions, mps)
    return [*taken, *delete_lines(functions.text, gone)]


def _editable_entry(functions: NativeFunctions, func: str) -> Entry:
    entry = functions.entry(func)
    if entry.structured_delegate:
        raise _refusal(functions, entry, f"{func} delegates to {entry.structured_delegate} and has no kernels itself",
                       f"edit {entry.structured_delegate}")  # fmt: skip
    for key in ("CPU", "CUDA", "MPS"):
        rows = [row for row in entry.rows if key in row.keys]
        if len(rows) > 1 or any(row.keys.count(key) > 1 for row in rows):
            lines = " and ".join(str(row.line) for row in rows)
            raise _refusal(functions, rows[-1], f"{key} stands twice in the table of {func}, line {lines}", "keep one")
    return entry


def _mps_row(functions: NativeFunctions, entry: Entry) -> Row | None:
    row = entry.row("MPS")
    if row is not None:
        _require_own_line(functions, row)
    return row


def _unshared(entry: Entry) -> str:
    """Why CPU and CUDA have no function in common."""
    cpu, cuda = entry.row("CPU"), entry.row("CUDA")
    if cpu and cuda:
        return f"CPU runs {cpu.kernel} (line {cpu.line}), CUDA {cuda.kernel} (line {cuda.line})"
    if cpu or cuda:
        here, row, missing = ("CPU", cpu, "CUDA") if cpu else ("CUDA", cuda, "CPU")
        assert row is not None
        return f"{here} runs {row.kernel} (line {row.line}), {missing} has no row"
    return "neither CPU nor CUDA has a row"


def _way_without_shared_row(entry: Entry, mps: Row) -> str:
    body = f"{mps.kernel} keeps its row and gets a Metal body"
    composite = next((row for key in COMPOSITES if (row := entry.row(key))), None)
    return f"{body}, or drop the key so that MPS runs {composite.kernel}" if composite else body


def _join_shared_row(functions: NativeFunctions, entry: Entry) -> tuple[list[Splice], list[Span]]:
    """MPS right after CUDA; separate CPU and CUDA lines of one function become one, where the first of them stood.

    Returns what to splice and which lines go.
    """
    cpu, cuda = entry.row("CPU"), entry.row("CUDA")
    assert cpu is not None and cuda is not None
    after_cuda = _insert_after(functions, cuda, "CUDA")
    if cpu is cuda:
        return [after_cuda], []
    first, second = sorted((cpu, cuda), key=lambda row: row.keys_span)
    _require_own_line(functions, cpu)
    comment, lost = (_tail(functions, row) for row in (first, second))
    if lost and comment and lost != comment:
        raise _refusal(functions, second, f"joining it with line {first.line} would lose a comment",
                       "put the two comments on one line first")  # fmt: skip
    start, end = cuda.keys_span
    cuda_keys = apply(functions.text[start:end], [Splice(after_cuda.start - start, after_cuda.end - start, ", MPS")])
    keys = f"{functions.text[slice(*cpu.keys_span)]}, {cuda_keys}"
    joined = [Splice(*first.keys_span, keys)]
    if lost and not comment:
        joined.append(Splice(first.kernel_span[1], first.kernel_span[1], lost))
    return joined, [second.keys_span]


def _take_out_mps(functions: NativeFunctions, mps: Row) -> tuple[list[Splice], list[Span]]:
    """The MPS row goes with the comment lines above it that speak of it, or the key leaves a list of several.

    Returns what to splice and which lines go.
    """
    text = functions.text
    if mps.keys != ("MPS",):
        start, end = mps.keys_span
        key = re.search(r"\bMPS\b\s*,\s*|\s*,\s*\bMPS\b", text[start:end])
        assert key is not None
        return [Splice(start + key.start(), start + key.end())], []
    top = row_start = line_start(text, mps.keys_span[0])
    while top and (above := line_at(text, top - 1)).lstrip().startswith("#"):
        top -= len(above)
    speaks_of_mps = re.search(rf"\b(?:MPS|mps|{re.escape(mps.kernel)})\b", text[top:row_start])
    return [], [(top if speaks_of_mps else row_start, mps.kernel_span[1])]


def _insert_after(functions: NativeFunctions, row: Row, key: str) -> Splice:
    _require_own_line(functions, row)
    start, end = row.keys_span
    found = re.search(rf"(?<!\w){key}(?!\w)", functions.text[start:end])
    assert found is not None
    return Splice(start + found.end(), start + found.end(), ", MPS")


def _own_row_below(functions: NativeFunctions, row: Row, kernel: str) -> Splice:
    _require_own_line(functions, row)
    start = line_start(functions.text, row.keys_span[0])
    line = line_at(functions.text, start)
    content = line.rstrip("\r\n")
    newline = line[len(content) :] or ("\r\n" if "\r\n" in functions.text else "\n")
    indent = functions.text[start : row.keys_span[0]]
    return Splice(start + len(content), start + len(content), f"{newline}{indent}MPS: {kernel}")


def _tail(functions: NativeFunctions, row: Row) -> str:
    """What follows a row's function on its line, with the blanks before it: a comment, as a rule nothing."""
    end = row.kernel_span[1]
    start = line_start(functions.text, end)
    return line_at(functions.text, end)[end - start :].rstrip()


def _require_own_line(functions: NativeFunctions, row: Row) -> None:
    """A row that shares its line, or runs over several, is not in the form every edit here relies on."""
    text = functions.text
    head = text[line_start(text, row.keys_span[0]) : row.keys_span[0]]
    one_line = "\n" not in text[row.keys_span[0] : row.kernel_span[1]]
    if head.strip() or not one_line or not re.fullmatch(r"(\s*#.*)?", _tail(functions, row)):
        raise _refusal(functions, row, "the row is not on a line of its own", "write it as `KEY, KEY: function`")


def _refusal(functions: NativeFunctions, place: Entry | Row, message: str, hint: str) -> Refusal:
    return Refusal(message, path=functions.path, line=place.line, hint=hint)
