"""Preprocessed Metal Shading Language to C++: text in, text and a list of kernels out.

Only what C++ cannot express is rewritten, in place, so that line numbers and most columns stay those of the source:

- `[[attributes]]` of Metal are blanked; what they say about kernel parameters becomes an entry point per kernel.
- An explicit instantiation with a host name becomes the entry point of that kernel, and nothing else.
- `threadgroup T x[n];` in a kernel becomes a reference to memory that the threads of a threadgroup share.
- A floating-point literal without a suffix is a float (MSL specification, 2.1); `h` and `bf` suffixes are spelt out.
- Class specialisations and functions that differ only in address spaces are kept once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.metal.entry import entry_point
from pipeline.metal.scan import Edits, Scopes, close, mask, split_commas
from pipeline.metal.signature import (
    POSITIONS,
    Head,
    Kernel,
    TranslationError,
    attributes,
    definition_of,
    kernel_heads,
    parameters_of,
)

KERNELS_PER_PART = 64
BLANKED = POSITIONS | {
    "buffer",
    "threadgroup",
    "host_name",
    "kernel",
    "id",
    "max_total_threads_per_threadgroup",
    "visible",
    "unroll",
    "align",
}
UNSUPPORTED = {
    "texture": "textures",
    "sampler": "samplers",
    "stage_in": "stage_in arguments",
    "function_constant": "function constants",
    "vertex_id": "vertex functions",
    "color": "fragment functions",
}


@dataclass(frozen=True)
class Translation:
    """`text` runs, without address spaces; `spaced_text` keeps them, to be checked only.

    The entry points of `text` are divided into `parts` that can be compiled at the same time.
    """

    text: str
    spaced_text: str
    kernels: tuple[Kernel, ...]
    parts: int


def translate(source: str, only: re.Pattern[str] | None = None) -> Translation:
    """C++ for `source`, which went through the preprocessor, with an entry point for every kernel `only` finds.

    Raises TranslationError.
    """
    text = suffix_literals(source)
    masked = mask(text)
    _reject(masked)
    edits = Edits()
    _blank_attributes(text, masked, edits)
    heads = list(kernel_heads(text, masked))
    _share_threadgroup_variables(masked, heads, edits)
    wanted = []
    for head in heads:
        if not head.is_entry:
            continue
        if only is None or only.search(head.kernel_name):
            wanted.append(head)
        elif head.explicit:
            edits.blank(text, head.start, head.end)
    _require_unique_names(wanted)
    kernels = _add_entry_points(text, masked, heads, wanted, edits)
    spaced = edits.apply(text)
    _drop_repetitions(masked, edits)
    return Translation(edits.apply(text), spaced, kernels, _part(len(kernels) - 1) + 1)


def _part(index: int) -> int:
    return max(index, 0) // KERNELS_PER_PART


def _add_entry_points(
    text: str, masked: str, heads: list[Head], wanted: list[Head], edits: Edits
) -> tuple[Kernel, ...]:
    """Behind a definition; in place of an instantiation, whose template the entry point instantiates."""
    definitions = [head for head in heads if head.body_at is not None]
    kernels = []
    for index, head in enumerate(wanted):
        definition = definition_of(masked, head, definitions)
        parameters = parameters_of(masked, definition)
        kernel = Kernel(
            head.kernel_name,
            f"mcpu_kernel_{index}",
            _part(index),
            parameters,
            min(head.max_threads, definition.max_threads),
        )
        entry = " " + entry_point(kernel, head, masked)
        if head.explicit:
            edits.replace(head.start, head.end, entry + "\n" * text.count("\n", head.start, head.end))
        else:
            edits.replace(head.end, head.end, entry)
        kernels.append(kernel)
    return tuple(kernels)


LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"|^#[^\n]*|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*', re.MULTILINE)


def suffix_literals(source: str) -> str:
    """Floating-point literals as C++ must see them: `1.0` is a float, `1.0h` a half, `1.0bf` a bfloat."""

    def spell(match: re.Match[str]) -> str:
        literal = match.group(0)
        if not (literal[0].isdigit() or literal[0] == "."):
            return literal
        lower = literal.lower()
        hexadecimal = lower.startswith("0x")
        if not ("p" in lower if hexadecimal else "." in lower or "e" in lower):
            return literal
        if not hexadecimal and lower.endswith("bf"):
            return f"bfloat({literal[:-2]}f)"
        if lower.endswith("h"):
            return f"half({literal[:-1]}f)"
        return literal if lower.endswith("f") and not (hexadecimal and "p" not in lower) else literal + "f"

    return LITERAL.sub(spell, source)


def _reject(masked: str) -> None:
    found = re.search(r"\bdouble\b", masked)
    if found:
        raise TranslationError("'double' is not supported in Metal", found.start())


def _blank_attributes(text: str, masked: str, edits: Edits) -> None:
    for start, end, name, _ in attributes(masked, 0, len(masked)):
        if name in UNSUPPORTED:
            raise TranslationError(f"{UNSUPPORTED[name]} are not supported", start)
        if name in BLANKED or re.search(r"\bkernel\b", masked[start:end]):
            edits.blank(text, start, end, "kernel" if re.search(r"\bkernel\b", masked[start:end]) else "")


def _require_unique_names(heads: list[Head]) -> None:
    seen: set[str] = set()
    for head in heads:
        if head.kernel_name in seen:
            raise TranslationError(f"two kernels have the host name '{head.kernel_name}'", head.start)
        seen.add(head.kernel_name)


THREADGROUP = re.compile(r"(?<=[;{}])\s*(threadgroup\b([^;{}]*);)")
DECLARATOR = re.compile(r"(.*?[\s>])(\w+)\s*((?:\[.*\])?)\s*$", re.DOTALL)


def _share_threadgroup_variables(masked: str, heads: list[Head], edits: Edits) -> None:
    bodies = [(head.body_at, head.end) for head in heads if head.body_at is not None]
    for match in THREADGROUP.finditer(masked):
        declaration = re.sub(r"^\s*alignas\s*\([^()]*\)", "", match.group(2))
        if re.search(r"[*&=(]", re.sub(r"\[[^][]*\]|<.*>", "", declaration, flags=re.DOTALL)):
            continue  # a pointer or reference into threadgroup memory, itself private to the thread
        at = match.start(1)
        if not any(start < at < end for start, end in bodies):
            raise TranslationError("a variable in threadgroup memory is declared in a kernel", at)
        edits.replace(at, match.end(1), _shared(declaration, at) + "\n" * match.group(1).count("\n"))


def _shared(declaration: str, at: int) -> str:
    """References to what `type name[n], name[m]` declares; `at` tells this declaration from others."""
    first, *others = [declaration[slice(*piece)] for piece in split_commas(declaration, 0, len(declaration))]
    declarator = DECLARATOR.match(first)
    if declarator is None:
        raise TranslationError("cannot read this threadgroup declaration", at)
    type_text = " ".join(declarator.group(1).split())
    declared = [(declarator.group(2), declarator.group(3))]
    declared += [(name.split("[")[0].strip(), name[name.index("[") :] if "[" in name else "") for name in others]
    return " ".join(
        f"auto& {name} = ::metal_cpu::threadgroup_variable<{type_text}{' '.join(dimensions.split())}, "
        f'{at}{number}>("{name}");'
        for number, (name, dimensions) in enumerate(declared)
    )


SPACE = r"\b(?:thread|device|constant|threadgroup)\b"
SPECIALISATION = re.compile(rf"\btemplate\s*<[^;{{}}]*?>\s*(?:struct|class)\s+\w+\s*<[^;{{}}]*{SPACE}[^;{{}}]*>\s*\{{")
FUNCTION = re.compile(rf"\w\s*\([^(){{}};]*{SPACE}[^{{}};]*\)\s*(?:const\s*)?\{{")


def _drop_repetitions(masked: str, edits: Edits) -> None:
    """Without address spaces `S<device T*>` and `S<threadgroup T*>` are one class: keep the first of equals.

    So with functions that say the same for several address spaces.
    """
    seen: dict[tuple[tuple[str, ...], str], str] = {}
    first: dict[tuple[tuple[str, ...], str], int] = {}
    scopes = Scopes(masked)
    for pattern in (SPECIALISATION, FUNCTION):
        for match in pattern.finditer(masked):
            start = 1 + max(masked.rfind(character, 0, match.start()) for character in ";{}")
            start += len(masked[start : match.end()]) - len(masked[start : match.end()].lstrip())
            end = close(masked, match.end() - 1)
            if pattern is SPECIALISATION:
                end = masked.index(";", end) + 1
            text = masked[start:end]
            if re.search(r"\bkernel\b", text):
                continue
            erased = re.sub(r"\b(?:thread|device|threadgroup)\b", "", re.sub(r"\bconstant\b", "const", text))
            erased = re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(erased.split()))
            key = (scopes.at(start), erased.partition("{")[0])
            if seen.setdefault(key, erased) != erased:
                raise TranslationError("overloads that differ by address space only must do the same here", start)
            if first.setdefault(key, start) != start:
                edits.blank(masked, start, end)
