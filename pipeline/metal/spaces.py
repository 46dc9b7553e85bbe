"""Address spaces: what a compiler for one memory cannot see.

The shader is read a second time as C++ for OpenCL, whose address spaces are those of Metal. Of what that reading
complains about, only this counts: two types that differ in nothing but their address space. Everything else is a
difference between the two languages, and the compiler that makes the code has its own say.

Two readings are needed. In OpenCL the object of a member function may lie in any address space, so a shader that hands
out `thread` references to members only reads well when `thread` may mean any; and when it may, a device pointer passes
for a thread pointer unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.metal.diagnostics import DIAGNOSTIC, Diagnostic

THREAD_READINGS = ("__private", "")
LANGUAGE = ("-x", "clcpp", "-cl-std=CLC++2021", "-cl-ext=+all,+__cl_clang_function_pointers", "-fdeclspec")
QUIET = ("-Wno-everything", "-ferror-limit", "0", "-DMETAL_CPU_SPACES")

SPACES = {"__global": "device", "__constant": "constant", "__local": "threadgroup", "__private": "thread"}
QUALIFIER = re.compile(r"__(?:global|constant|local|private|generic)\b")
TYPES = re.compile(r"'([^']+)'(?: \(aka '[^']+'\))?")
NOT_VIABLE = re.compile(r"note: candidate .*(?:not viable|ignored): (.*)$")
ARITY = re.compile(r"requires|no parameters|too (?:few|many)|expects")


def space_errors(output: str) -> Iterator[Diagnostic]:
    """The errors among a compiler's output that are about address spaces, in Metal's words."""
    lines = output.splitlines()
    for at, line in enumerate(lines):
        match = DIAGNOSTIC.match(line)
        if not match:
            continue
        message = match["text"]
        mixed = _mixes_spaces(message)
        if not mixed and message.startswith("no matching"):
            reasons = list(_reasons(lines, at + 1))
            mixed = bool(reasons) and all(_mixes_spaces(reason) for reason in reasons)
            message = f"{message}: {reasons[0]}" if reasons else message
        if mixed:
            yield Diagnostic(match["file"], int(match["line"]), int(match["column"]), _in_metal(message))


def _reasons(lines: list[str], at: int) -> Iterator[str]:
    """Why each candidate of a call was turned down, apart from those with another number of parameters."""
    for line in lines[at:]:
        if DIAGNOSTIC.match(line):
            return
        note = NOT_VIABLE.search(line)
        if note and not ARITY.search(note[1]):
            yield note[1]


def _mixes_spaces(message: str) -> bool:
    """Whether a message names two kinds of pointer or reference that differ in their address spaces only."""
    types = [match[1] for match in TYPES.finditer(message)]
    if "pointer" not in message and "reference" not in message:
        types = [text for text in types if re.search(r"[*&[]", text)]  # a value may come from anywhere
    pairs = [(a, b) for i, a in enumerate(types) for b in types[i + 1 :]]
    return any(_differ_in_space(a, b, whatever="cast" in message) for a, b in pairs)


def _differ_in_space(a: str, b: str, *, whatever: bool) -> bool:
    """Whether two types are of different spaces and otherwise the same, or whatever they are otherwise."""
    spaces_a, spaces_b = QUALIFIER.findall(a), QUALIFIER.findall(b)
    if "__generic" in spaces_a + spaces_b or not spaces_a or not spaces_b or spaces_a == spaces_b:
        return False
    bare_a, bare_b = (re.sub(r"\bconst\b|\[[^]]*\]|[\s*&()]", "", QUALIFIER.sub("", text)) for text in (a, b))
    return whatever or bare_a == bare_b


def _in_metal(message: str) -> str:
    message = re.sub(r"(?<=[*&])__private\b", "", message)  # where the pointer itself lies
    for name, metal in SPACES.items():
        message = re.sub(rf"{name}\b", metal, message)
    return re.sub(r"\bconst constant\b", "constant", message).replace("_Float16", "half")
