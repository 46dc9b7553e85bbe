"""Mechanical changes to a kernel's text, each a mistake that someone could make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What no mutation reaches into: comments, directives with their continued lines, strings, attributes, template heads.
_APART = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*|"(?:[^"\\\n]|\\.)*"|\[\[.*?\]\]|\btemplate <[^;{}()]*?>(?=\s)',
    re.DOTALL | re.MULTILINE,
)
_OPERATORS = {
    " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " / ", " += ": " -= ", " *= ": " /= ",
    " && ": " || ", " || ": " && ", " & ": " | ", " | ": " & ", " ^ ": " | ", " << ": " >> ", " >> ": " << ",
}  # fmt: skip
_COMPARISONS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "}
_FUNCTIONS = {
    "min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin", "floor": "ceil", "ceil": "floor", "rint": "round",
    "trunc": "floor", "isnan": "isinf", "isinf": "isnan", "isfinite": "isnan", "any": "all", "all": "any", "cos": "sin",
    "sin": "cos", "exp": "exp2", "log": "log2", "sinh": "tanh", "fabs": "", "abs": "",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?)(?=[fhuUlL]*(?![\w.]))")
_CAST = re.compile(
    r"\bstatic_cast<[\w:<>, ]+?>(?=\()|(?<![\w>.] )(?<![\w>.])(?:float|T|om_t|opmath_t<T>|int|long|uint)(?=\((?!\)))"
)
_SIGN = re.compile(r"(?:(?<=[(\[])|(?<=[,=?:n] ))-(?=[\w(.])|!(?=[\w(:])")
_CALL = re.compile(r"\b[A-Za-z_]\w*(?:<[\w:, ]+>)?\(")
_REGISTRATION = re.compile(r"^(?:REGISTER|INSTANTIATE)\w*\([^;]*\);?|^template\s+\[\[host_name[^;]*;", re.MULTILINE)
_DECLARATION = re.compile(
    r"\b(?:const|constant|device|thread|threadgroup|typename)\b|^\s*(?:uint|int|long|T|float)\d? \w"
)
_BARRIER = re.compile(r"\bthreadgroup_barrier\([^;]*;")
_OVERLOAD = re.compile(
    r"(?:template <[^;{}]*?>\s+)?(?:static )?(?:inline )?[^;{}()]*?\boperator\(\)\([^{;]*?\)[^{;]*?\{"
)


@dataclass(frozen=True)
class Mutant:
    """The text from `start` on, `old`, becomes `new`. `kind` says what sort of mistake that is."""

    kind: str
    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        assert text[self.start :].startswith(self.old)
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def line(self, text: str) -> int:
        return text.count("\n", 0, self.start) + 1


def mutants(text: str) -> list[Mutant]:
    """Every mutant of a kernel file, in the order of the text, none twice."""
    code = _APART.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    registrations = [Mutant("registration", each.start(), each.group(), "") for each in _REGISTRATION.finditer(text)]
    code = _blanked(code, registrations)
    found = dict.fromkeys(
        (
            *_replaced(code, _OPERATORS, "operator"),
            *_replaced(code, _COMPARISONS, "comparison"),
            *_constants(code),
            *(Mutant("cast", each.start(), each.group(), "") for each in _CAST.finditer(code)),
            *(Mutant("sign", each.start(), each.group(), "") for each in _SIGN.finditer(code)),
            *_functions(code),
            *_swapped(code, text),
            *_choices(code, text),
            *_conditions(code),
            *(Mutant("barrier", each.start(), each.group(), "") for each in _BARRIER.finditer(code)),
            *_overloads(code, text),
            *registrations,
        )
    )
    return sorted(found, key=lambda each: (each.start, each.old, each.new))


def _blanked(code: str, parts: list[Mutant]) -> str:
    for each in parts:
        code = code[: each.start] + " " * len(each.old) + code[each.start + len(each.old) :]
    return code


def _replaced(code: str, words: dict[str, str], kind: str) -> Iterator[Mutant]:
    for old, new in words.items():
        at = code.find(old)
        while at >= 0:
            yield Mutant(kind, at, old, new)
            at = code.find(old, at + 1)


def _constants(code: str) -> Iterator[Mutant]:
    """Integers become the next one, and so does 0.0; other numbers a percent more."""
    for each in _NUMBER.finditer(code):
        number = each.group()
        more = str(int(number) + 1) if number.isdigit() else repr(float(number) * 1.01 or 1.0)
        yield Mutant("constant", each.start(), number, more)


def _functions(code: str) -> Iterator[Mutant]:
    for name, other in _FUNCTIONS.items():
        for each in re.finditer(rf"(?:(?:::)?[\w:]*::)?\b{name}(?=\()", code):
            whole = each.group()
            yield Mutant("function", each.start(), whole, whole.removesuffix(name) + other if other else "")


def _swapped(code: str, text: str) -> Iterator[Mutant]:
    """The first two arguments of a call, exchanged; and the second and third."""
    for call in _CALL.finditer(code):
        arguments = _arguments(code, call.end())
        if len(arguments) < 2 or any(_DECLARATION.search(code[start:end]) for start, end in arguments):
            continue
        for (start, middle), (after, end) in zip(arguments, arguments[1:2] + arguments[2:3], strict=False):
            left, between, right = text[start:middle], text[middle:after], text[after:end]
            if left.strip() != right.strip():
                yield Mutant("arguments", start, text[start:end], right + between + left)


def _arguments(code: str, start: int) -> list[tuple[int, int]]:
    """Where the arguments of a call stand whose parenthesis ends at `start`; none for an unbalanced one."""
    found, depth, begin = [], 0, start
    for at in range(start, len(code)):
        char = code[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                found.append((_skipped(code, begin), at))
                return found if char == ")" else []
            depth -= 1
        elif char == "," and depth == 0:
            found.append((_skipped(code, begin), at))
            begin = at + 1
        elif char == ";":
            return []
    return []


def _skipped(code: str, at: int) -> int:
    while code[at].isspace():
        at += 1
    return at


def _choices(code: str, text: str) -> Iterator[Mutant]:
    """`a ? b : c` as `a ? c : b`."""
    for each in re.finditer(r"\?\s", code):
        start = each.end()
        middle = _end(code, start, ":")
        end = _end(code, middle + 1, "") if middle else 0
        if middle and end:
            left, right = text[start:middle], text[middle + 1 : end]
            if left.strip() != right.strip():
                yield Mutant("choice", start, text[start:end], f"({right.strip()}) : ({left.strip()})")


def _end(code: str, start: int, sign: str) -> int:
    """Where the expression that begins at `start` ends: at `sign`, or before what closes it."""
    depth = inner = 0
    for at in range(start, len(code)):
        char = code[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return 0 if sign else at
            depth -= 1
        elif depth == 0 and char == "?":
            inner += 1
        elif depth == 0 and char == ":" and ":" not in (code[at - 1], code[at + 1]):
            if inner == 0:
                return at if sign else 0
            inner -= 1
        elif depth == 0 and char in ";," and inner == 0:
            return 0 if sign else at
    return 0


def _conditions(code: str) -> Iterator[Mutant]:
    """A branch that is never taken."""
    for each in re.finditer(r"\bif (?:constexpr )?\(", code):
        yield Mutant("condition", each.start(), each.group(), f"{each.group()}false && ")


def _overloads(code: str, text: str) -> Iterator[Mutant]:
    """One of several `operator()` of a functor left out."""
    for struct in re.finditer(r"^struct \w+[^;{]*\{.*?^\}", code, re.DOTALL | re.MULTILINE):
        body = text[struct.start() : struct.end()]
        heads = list(_OVERLOAD.finditer(body))
        for head in heads if len(heads) > 1 else ():
            end = _closing(body, head.end())
            yield Mutant("overload", struct.start() + head.start(), body[head.start() : end], "")


def _closing(code: str, start: int) -> int:
    depth = 1
    for at in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at + 1
    return len(code)
