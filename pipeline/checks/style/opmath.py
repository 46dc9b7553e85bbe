"""Arithmetic that is done in half where it would be done in float on CPU and CUDA (at::opmath_type).

A guess from the text, so a warning: a template parameter that half or bfloat can stand for, a math function of Metal
called with such a value, or two operations that each round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.checks.style.written import Written
from pipeline.edits.kernel_file import Call, KernelFile
from pipeline.edits.lexer import Token, Tokens
from pipeline.errors import Refusal
from pipeline.findings import Finding, Severity

_NARROW = re.compile(r"\b(?:half|bfloat)\b")
# Functions whose result in half has an error of its own; abs, floor, min and such are exact.
_INEXACT = re.compile(
    r"a?(?:sin|cos|tan)h?|(?:sin|cos|tan)pi|atan2|exp(?:2|10)?|log(?:2|10)?|powr?|r?sqrt|fma|erfc?|tgamma|lgamma"
)
_OPERATORS = frozenset("+-*/")
_OTHER_TYPES = ("is_complex", "is_scalar_integral", "is_integral")
_PARAMETER = re.compile(r"(?:const\s+)?(?:thread\s+)?(\w+)\s*(?:const)?\s*&?\s+(\w+)")


def opmath_findings(written: Written) -> Iterator[Finding]:
    """One finding per function of added code; none where nothing is registered for half or bfloat."""
    try:
        tokens = Tokens(written.text, written.path)
        calls = KernelFile(written.text, written.path).registrations.values()
    except Refusal:
        return
    if not any(_is_narrow(call) for call in calls):
        return
    for function in _templates(tokens):
        line = tokens.line(function.body)
        if written.wrote(line):
            reason = _reason(tokens, function)
            if reason:
                hint = "convert the operands to float (c10::metal::opmath_t) first, and the result back"
                yield Finding("style/opmath", Severity.WARNING, reason, written.path, line, hint)


def _is_narrow(call: Call) -> bool:
    """Instantiates a kernel for half or bfloat whose functor is given such values."""
    return "OPMATH" not in call.macro and any(_NARROW.fullmatch(argument) for argument in call.arguments)


@dataclass(frozen=True)
class _Template:
    """A function template: the names of its narrow parameters, and the token of its opening brace."""

    types: frozenset[str]
    values: frozenset[str]
    body: int


def _templates(tokens: Tokens) -> Iterator[_Template]:
    for at, word in enumerate(tokens.texts):
        if word != "template" or tokens.texts[at + 1 : at + 2] != ["<"]:
            continue
        brace = next((i for i in range(at, len(tokens)) if tokens.texts[i] in ("{", ";")), None)
        if brace is None or tokens.texts[brace] != "{" or tokens.texts[brace - 1] not in (")", "const"):
            continue
        head = tokens.text[tokens.starts[at] : tokens.starts[brace]]
        types = frozenset(re.findall(r"\btypename\s+(\w+)", head))
        if any(other in head for other in _OTHER_TYPES) and "floating" not in head:
            continue
        close = brace - 1 if tokens.texts[brace - 1] == ")" else brace - 2
        start, end = tokens.starts[tokens.match[close]] + 1, tokens.starts[close]
        pairs = (_PARAMETER.fullmatch(each.strip()) for each in tokens.text[start:end].split(","))
        values = frozenset(pair[2] for pair in pairs if pair and pair[1] in types)
        if values:
            yield _Template(types, values, brace)


def _reason(tokens: Tokens, function: _Template) -> str:
    body = [
        Token(tokens.kinds[index], tokens.texts[index], tokens.starts[index])
        for index in range(function.body + 1, tokens.match[function.body])
        if tokens.kinds[index] not in ("comment", "directive")
    ]
    words = [token.text for token in body]
    narrow = set(function.values)
    for at in range(1, len(words) - 1):
        if words[at - 1] in function.types and words[at + 1] == "=":
            narrow.add(words[at])
    rounded = 0
    for at, word in enumerate(words):
        following = words[at + 1 : at + 3]
        if _INEXACT.fullmatch(word) and following[:1] == ["("] and not _is_ours(words, at):
            argument = following[1] if following[1:] != ["-"] else words[at + 3]
            if argument in narrow and words[at + 3 : at + 4] != ["."]:
                return f"{word} of a {'/'.join(sorted(function.types))} is computed in half where that is half"
        if word in _OPERATORS and 0 < at < len(words) - 1:
            beside = {words[at - 1], words[at + 1]}
            rounded += bool(beside & narrow) and words[at + 2 : at + 3] != ["."]
        if word in (";", "return", "{"):
            rounded = 0
        if rounded > 1:
            return "two operations in a row round to half where the operands are half"
    return ""


def _is_ours(words: list[str], at: int) -> bool:
    """c10::metal's functions take any type and compute in float."""
    return words[max(at - 4, 0) : at] == ["c10", "::", "metal", "::"]
