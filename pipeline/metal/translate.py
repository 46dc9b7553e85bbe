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
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.metal.scan import angle_end, close, mask, position_of, split_commas

POSITIONS = frozenset(
    {
        "thread_position_in_grid",
        "thread_position_in_threadgroup",
        "threadgroup_position_in_grid",
        "threads_per_threadgroup",
        "threads_per_grid",
        "threadgroups_per_grid",
        "dispatch_threads_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup",
        "thread_index_in_threadgroup",
        "thread_index_in_simdgroup",
        "thread_index_in_quadgroup",
        "simdgroup_index_in_threadgroup",
        "quadgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "quadgroups_per_threadgroup",
        "threads_per_simdgroup",
        "thread_execution_width",
    }
)
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


class TranslationError(Exception):
    """A construct that the translation rejects; `offset` is its place in the preprocessed text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: `text` without attributes, and what its attribute says it is bound to."""

    text: str
    kind: str  # "buffer", "threadgroup" or the name of a position attribute
    index: int = 0  # of the buffer or threadgroup argument

    @property
    def is_reference(self) -> bool:
        return "&" in self.text

    @property
    def space(self) -> str:
        """The address space of what it points or refers to; empty for positions."""
        match = re.match(r"(?:const\s+)?(device|constant|threadgroup)\b", self.text)
        return match.group(1) if match else ""


@dataclass(frozen=True)
class Kernel:
    """An entry point: `name` as the host asks for it, `symbol` in the compiled library."""

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]
    max_threads: int = 1024


@dataclass(frozen=True)
class Translation:
    text: str
    kernels: tuple[Kernel, ...]


@dataclass
class _Head:
    """A kernel declaration found in the source; offsets are into the masked text."""

    start: int  # of the declaration, template header included
    name: str  # as written, template arguments included
    parameters_at: tuple[int, int]  # inside the parentheses; empty for the decltype form
    end: int  # just behind the body or the semicolon
    body_at: int | None  # the opening brace of a definition
    prefix: str  # template header and attributes, attributes not blanked
    templated: bool
    explicit: bool  # an explicit instantiation
    host_name: str | None
    max_threads: int = 1024
    decltype: bool = False

    @property
    def base_name(self) -> str:
        return re.sub(r"<.*", "", self.name, flags=re.DOTALL).split("::")[-1].strip()


@dataclass
class _Edits:
    """Replacements of the text, collected in any order and applied at once."""

    items: list[tuple[int, int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, text: str) -> None:
        self.items.append((start, end, text))

    def blank(self, text: str, start: int, end: int, instead: str = "") -> None:
        kept = instead + re.sub(r"[^\n]", " ", text[start:end])[len(instead) :]
        self.replace(start, end, kept)

    def apply(self, text: str) -> str:
        pieces: list[str] = []
        last = 0
        for start, end, replacement in sorted(self.items, key=lambda item: (item[0], item[1])):
            if start < last:
                continue  # inside something already replaced, such as an instantiation
            pieces += (text[last:start], replacement)
            last = end
        pieces.append(text[last:])
        return "".join(pieces)


def translate(source: str, only: re.Pattern[str] | None = None) -> Translation:
    """C++ for `source`, which went through the preprocessor, with an entry point for every kernel `only` finds.

    Raises TranslationError.
    """
    text = suffix_literals(source)
    masked = mask(text)
    _reject(masked)
    edits = _Edits()
    _blank_attributes(text, masked, edits)
    _drop_repetitions(masked, edits)
    heads = list(_kernel_heads(text, masked))
    definitions = [head for head in heads if head.body_at is not None]
    kernels: list[Kernel] = []
    for head in heads:
        if head.body_at is not None:
            _share_threadgroup_variables(masked, head, edits)
        entry = head.explicit or (head.body_at is not None and not head.templated)
        if not entry:
            continue
        name = head.host_name or head.base_name
        if only is not None and not only.search(name):
            if head.explicit:
                edits.blank(text, head.start, head.end)
            continue
        definition = _definition_of(masked, head, definitions)
        kernel = Kernel(name, f"mcpu_kernel_{len(kernels)}", _parameters(masked, definition), definition.max_threads)
        if head.explicit:
            newlines = "\n" * text.count("\n", head.start, head.end)
            edits.replace(head.start, head.end, " " + _entry_point(kernel, head, masked) + newlines)
        else:
            edits.replace(head.end, head.end, " " + _entry_point(kernel, head, masked))
        kernels.append(kernel)
    _require_unique_names(kernels, heads)
    return Translation(edits.apply(text), tuple(kernels))


LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"|^#[^\n]*|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*', re.MULTILINE)


def suffix_literals(source: str) -> str:
    """Floating-point literals as C++ must see them: `1.0` is a float, `1.0h` a half, `1.0bf` a bfloat."""

    def spell(match: re.Match[str]) -> str:
        literal = match.group(0)
        if not (literal[0].isdigit() or literal[0] == "."):
            return literal
        lower = literal.lower()
        hexadecimal = lower.startswith("0x")
        if not ("p" in lower if hexadecimal else "." in lower or "e" in lower or lower.endswith(("h", "bf"))):
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


ATTRIBUTE = re.compile(r"\[\[")
ATTRIBUTE_NAME = re.compile(r"\s*(\w+)\s*(\()?")


def _attributes(masked: str, start: int, end: int) -> Iterator[tuple[int, int, str, int]]:
    """Every `[[...]]` between two offsets: where it stands, the name of its first entry, where its argument starts."""
    at = start
    while match := ATTRIBUTE.search(masked, at, end):
        close_at = close(masked, match.start())
        name = ATTRIBUTE_NAME.match(masked, match.end())
        at = match.end()
        if name and masked[close_at - 2 : close_at] == "]]":
            at = close_at
            yield match.start(), close_at, name.group(1), name.end() if name.group(2) else -1


def _blank_attributes(text: str, masked: str, edits: _Edits) -> None:
    for start, end, name, _ in _attributes(masked, 0, len(masked)):
        if name in UNSUPPORTED:
            raise TranslationError(f"{UNSUPPORTED[name]} are not supported", start)
        if name in BLANKED or re.search(r"\bkernel\b", masked[start:end]):
            edits.blank(text, start, end, "kernel" if re.search(r"\bkernel\b", masked[start:end]) else "")


KERNEL = re.compile(r"\bkernel\b")
NEXT_ATTRIBUTE = re.compile(r"\s*\[\[")
DECLTYPE = re.compile(r"\s*decltype\s*\(")
AFTER_PARAMETERS = re.compile(r"[\s\w]*([{;])")


def _kernel_heads(text: str, masked: str) -> Iterator[_Head]:
    for match in KERNEL.finditer(masked):
        start = 1 + max(masked.rfind(character, 0, match.start()) for character in ";{}")
        after = match.end()
        attribute = masked.rfind("[[", start, match.start())
        if attribute >= 0 and close(masked, attribute) > match.start():
            after = close(masked, attribute)
        yield _head(text, masked, start, match.start(), after)


def _head(text: str, masked: str, start: int, keyword: int, after: int) -> _Head:
    while following := NEXT_ATTRIBUTE.match(masked, after):
        after = close(masked, following.end() - 2)
    prefix = text[start:after]
    masked_prefix = _without_attributes(masked[start:after])
    explicit = re.search(r"\btemplate\b(?!\s*<)", masked_prefix) is not None
    templated = re.search(r"\btemplate\s*<(?!\s*>)", masked_prefix) is not None
    host_name, max_threads = _head_attributes(text, masked, start, after)
    start += len(masked[start:after]) - len(masked[start:after].lstrip())
    decltype = DECLTYPE.match(masked, after)
    if decltype:
        name_at = close(masked, decltype.end() - 1)
        end = masked.index(";", name_at)
        name = masked[name_at:end].strip()
        return _Head(
            start, name, (end, end), end + 1, None, prefix, templated, explicit, host_name, max_threads, decltype=True
        )
    open_at = _parameter_list(masked, after)
    name = re.sub(r"^void\b", "", masked[after:open_at].strip()).strip()
    close_at = close(masked, open_at)
    tail = AFTER_PARAMETERS.match(masked, close_at)
    if tail is None:
        raise TranslationError(f"cannot read the declaration of kernel '{name}'", keyword)
    body_at = tail.start(1) if tail.group(1) == "{" else None
    end = close(masked, body_at) if body_at is not None else tail.end()
    return _Head(
        start, name, (open_at + 1, close_at - 1), end, body_at, prefix, templated, explicit, host_name, max_threads
    )


def _parameter_list(masked: str, at: int) -> int:
    """The parenthesis that opens the parameter list of the function whose name starts at `at`."""
    while at < len(masked):
        character = masked[at]
        if character == "(":
            return at
        at = angle_end(masked, at) if character == "<" else at + 1
    raise TranslationError("a kernel needs a parameter list", at - 1)


def _without_attributes(masked: str) -> str:
    for start, end, _, _ in reversed(list(_attributes(masked, 0, len(masked)))):
        masked = masked[:start] + " " * (end - start) + masked[end:]
    return masked


def _head_attributes(text: str, masked: str, start: int, end: int) -> tuple[str | None, int]:
    host_name, max_threads = None, 1024
    for _, _, name, argument in _attributes(masked, start, end):
        if argument < 0:
            continue
        inner = text[argument : close(masked, argument - 1) - 1]
        if name == "host_name":
            host_name = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', inner))
        if name == "max_total_threads_per_threadgroup" and inner.strip().isdigit():
            max_threads = int(inner)
    return host_name, max_threads


def _definition_of(masked: str, head: _Head, definitions: list[_Head]) -> _Head:
    """Where the attributes of an instantiation's parameters stand."""
    if head.body_at is not None:
        return head
    named = [other for other in definitions if other.base_name == head.base_name]
    if not head.decltype:
        count = len(list(split_commas(masked, *head.parameters_at)))
        named = [other for other in named if len(list(split_commas(masked, *other.parameters_at))) == count]
    if not named:
        raise TranslationError(f"no definition of kernel '{head.base_name}' to instantiate", head.start)
    return named[0]


def _parameters(masked: str, head: _Head) -> tuple[Parameter, ...]:
    start, end = head.parameters_at
    pieces = list(split_commas(masked, start, end))
    explicit = {}
    for begin, stop in pieces:
        for _, _, name, argument in _attributes(masked, begin, stop):
            if name == "buffer" and argument >= 0:
                explicit[begin] = int(masked[argument : close(masked, argument - 1) - 1])
    free = (index for index in range(10_000) if index not in explicit.values())
    parameters = []
    for begin, stop in pieces:
        text = " ".join(_without_attributes(masked[begin:stop]).split())
        kind, index = "buffer", explicit.get(begin, -1)
        for _, _, name, argument in _attributes(masked, begin, stop):
            if name in POSITIONS:
                kind = name
            if name == "threadgroup" and argument >= 0:
                kind, index = "threadgroup", int(masked[argument : close(masked, argument - 1) - 1])
        if kind == "buffer" and index < 0:
            index = next(free)
        parameters.append(Parameter(text, kind, max(index, 0)))
    return tuple(parameters)


def _entry_point(kernel: Kernel, head: _Head, masked: str) -> str:
    """One function per kernel: run it for every thread that the runtime hands out."""
    start, end = head.parameters_at
    declared = " ".join(_without_attributes(masked[start:end]).split())
    function = f"(&{head.name})" if head.decltype else f"(static_cast<void (*)({declared})>(&{head.name}))"
    buffers = sorted({parameter.index for parameter in kernel.parameters if parameter.kind == "buffer"})
    locals_ = "".join(f" void* b{index} = b[{index}];" for index in buffers)
    arguments = ", ".join(_argument(parameter) for parameter in kernel.parameters)
    return (
        f'extern "C" METAL_CPU_ENTRY void {kernel.symbol}(void** b) {{ (void)b;{locals_} '
        f"do {{ while (::metal_cpu::next_thread()) {function}({arguments}); }} while (::metal_cpu::next_row()); }}"
    )


def _argument(parameter: Parameter) -> str:
    if parameter.kind == "buffer":
        kind = "Reference" if parameter.is_reference else "Pointer"
        return f"::metal_cpu::{kind}{{b{parameter.index}}}"
    if parameter.kind == "threadgroup":
        return f"::metal_cpu::Pointer{{::metal_cpu::mcpu_threadgroup_argument({parameter.index})}}"
    return f"::metal_cpu::attribute::{parameter.kind}()"


def _require_unique_names(kernels: list[Kernel], heads: list[_Head]) -> None:
    seen: set[str] = set()
    for kernel in kernels:
        if kernel.name in seen:
            again = [head for head in heads if kernel.name in (head.host_name, head.base_name)][-1]
            raise TranslationError(f"two kernels have the host name '{kernel.name}'", again.start)
        seen.add(kernel.name)


THREADGROUP = re.compile(r"(?<=[;{}])\s*(threadgroup\b([^;{}]*);)")


def _share_threadgroup_variables(masked: str, head: _Head, edits: _Edits) -> None:
    assert head.body_at is not None
    for match in THREADGROUP.finditer(masked, head.body_at, head.end):
        declaration = re.sub(r"^\s*alignas\s*\([^()]*\)", "", match.group(2))
        first, *others = split_commas(declaration, 0, len(declaration))
        names = [declaration[slice(*first)], *(declaration[slice(*other)] for other in others)]
        outside_brackets = re.sub(r"\[[^][]*\]|<.*>", "", declaration, flags=re.DOTALL)
        if re.search(r"[*&=(]", outside_brackets):
            continue  # a pointer or reference into threadgroup memory, itself private to the thread
        declarator = re.match(r"(.*?[\s>])(\w+)\s*((?:\[.*\])?)\s*$", names[0], re.DOTALL)
        if declarator is None:
            raise TranslationError("cannot read this threadgroup declaration", match.start(1))
        type_text = " ".join(declarator.group(1).split())
        declared = [(declarator.group(2), declarator.group(3))]
        declared += [(name.split("[")[0].strip(), name[name.index("[") :] if "[" in name else "") for name in names[1:]]
        statements = [
            f"auto& {name} = ::metal_cpu::threadgroup_variable<{type_text}{' '.join(dimensions.split())}, "
            f'{match.start(1)}{number}>("{name}");'
            for number, (name, dimensions) in enumerate(declared)
        ]
        newlines = "\n" * match.group(1).count("\n")
        edits.replace(match.start(1), match.end(1), " ".join(statements) + newlines)


SPACE = r"\b(?:thread|device|constant|threadgroup)\b"
SPECIALISATION = re.compile(rf"\btemplate\s*<[^;{{}}]*?>\s*(?:struct|class)\s+\w+\s*<[^;{{}}]*{SPACE}[^;{{}}]*>\s*\{{")
FUNCTION = re.compile(rf"\w\s*\([^(){{}};]*{SPACE}[^{{}};]*\)\s*(?:const\s*)?\{{")


def _drop_repetitions(masked: str, edits: _Edits) -> None:
    """Without address spaces `S<device T*>` and `S<threadgroup T*>` are one class: keep the first of equals.

    So with functions that say the same for several address spaces.
    """
    seen = set()
    for pattern in (SPECIALISATION, FUNCTION):
        for match in pattern.finditer(masked):
            start = 1 + max(masked.rfind(character, 0, match.start()) for character in ";{}")
            end = close(masked, match.end() - 1)
            if pattern is SPECIALISATION:
                end = masked.index(";", end) + 1
            text = masked[start:end]
            if re.search(r"\bkernel\b", text):
                continue
            erased = re.sub(r"\b(?:thread|device|threadgroup)\b", "", re.sub(r"\bconstant\b", "const", text))
            erased = re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(erased.split()))
            if erased in seen:
                edits.blank(masked, start, end)
            seen.add(erased)


__all__ = ["Kernel", "Parameter", "Translation", "TranslationError", "position_of", "suffix_literals", "translate"]
