"""The kernels of a preprocessed shader: where they are declared, what their attributes say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.metal.scan import angle_end, close, split_commas

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
    """An entry point: `name` as the host asks for it, `symbol` in that part of the compiled library."""

    name: str
    symbol: str
    part: int
    parameters: tuple[Parameter, ...]
    max_threads: int = 1024


@dataclass
class Head:
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
    def is_entry(self) -> bool:
        """Whether the host can ask for it: a template's definition and a forward declaration are not for it."""
        return self.explicit or (self.body_at is not None and not self.templated)

    @property
    def kernel_name(self) -> str:
        return self.host_name or self.base_name

    @property
    def base_name(self) -> str:
        return re.sub(r"<.*", "", self.name, flags=re.DOTALL).split("::")[-1].strip()


ATTRIBUTE = re.compile(r"\[\[")
ATTRIBUTE_NAME = re.compile(r"\s*(\w+)\s*(\()?")


def attributes(masked: str, start: int, end: int) -> Iterator[tuple[int, int, str, int]]:
    """Every `[[...]]` between two offsets: where it stands, the name of its first entry, where its argument starts."""
    at = start
    while match := ATTRIBUTE.search(masked, at, end):
        close_at = close(masked, match.start())
        name = ATTRIBUTE_NAME.match(masked, match.end())
        at = match.end()
        if name and masked[close_at - 2 : close_at] == "]]":
            at = close_at
            yield match.start(), close_at, name.group(1), name.end() if name.group(2) else -1


KERNEL = re.compile(r"\bkernel\b")
NEXT_ATTRIBUTE = re.compile(r"\s*\[\[")
DECLTYPE = re.compile(r"\s*decltype\s*\(")
AFTER_PARAMETERS = re.compile(r"[\s\w]*([{;])")


def kernel_heads(text: str, masked: str) -> Iterator[Head]:
    for match in KERNEL.finditer(masked):
        start = 1 + max(masked.rfind(character, 0, match.start()) for character in ";{}")
        after = match.end()
        attribute = masked.rfind("[[", start, match.start())
        if attribute >= 0 and close(masked, attribute) > match.start():
            after = close(masked, attribute)
        yield _head(text, masked, start, match.start(), after)


def _head(text: str, masked: str, start: int, keyword: int, after: int) -> Head:
    while following := NEXT_ATTRIBUTE.match(masked, after):
        after = close(masked, following.end() - 2)
    prefix = text[start:after]
    masked_prefix = without_attributes(masked[start:after])
    explicit = re.search(r"\btemplate\b(?!\s*<)", masked_prefix) is not None
    templated = re.search(r"\btemplate\s*<(?!\s*>)", masked_prefix) is not None
    host_name, max_threads = _head_attributes(text, masked, start, after)
    start += len(masked[start:after]) - len(masked[start:after].lstrip())
    decltype = DECLTYPE.match(masked, after)
    if decltype:
        name_at = close(masked, decltype.end() - 1)
        end = masked.index(";", name_at)
        name = masked[name_at:end].strip()
        return Head(
            start, name, (end, end), end + 1, None, prefix, templated, explicit, host_name, max_threads, decltype=True
        )
    open_at = _parameter_list(masked, after)
    name = masked[after:open_at].strip()
    if re.match(r"void\b", name):
        name = name.removeprefix("void").strip()
    elif not re.search(r"\bvoid\s*$", masked[start:keyword]):
        raise TranslationError("a kernel returns void", keyword)
    close_at = close(masked, open_at)
    tail = AFTER_PARAMETERS.match(masked, close_at)
    if tail is None:
        raise TranslationError(f"cannot read the declaration of kernel '{name}'", keyword)
    body_at = tail.start(1) if tail.group(1) == "{" else None
    end = close(masked, body_at) if body_at is not None else tail.end()
    return Head(
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


def without_attributes(masked: str) -> str:
    for start, end, _, _ in reversed(list(attributes(masked, 0, len(masked)))):
        masked = masked[:start] + " " * (end - start) + masked[end:]
    return masked


def _head_attributes(text: str, masked: str, start: int, end: int) -> tuple[str | None, int]:
    host_name, max_threads = None, 1024
    for _, _, name, argument in attributes(masked, start, end):
        if argument < 0:
            continue
        inner = text[argument : close(masked, argument - 1) - 1]
        if name == "host_name":
            host_name = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', inner))
        if name == "max_total_threads_per_threadgroup" and inner.strip().isdigit():
            max_threads = int(inner)
    return host_name, max_threads


def definition_of(masked: str, head: Head, definitions: list[Head]) -> Head:
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


def parameters_of(masked: str, head: Head) -> tuple[Parameter, ...]:
    start, end = head.parameters_at
    pieces = list(split_commas(masked, start, end))
    explicit = {}
    for begin, stop in pieces:
        for _, _, name, argument in attributes(masked, begin, stop):
            if name == "buffer" and argument >= 0:
                explicit[begin] = int(masked[argument : close(masked, argument - 1) - 1])
    free = (index for index in range(10_000) if index not in explicit.values())
    parameters = []
    for begin, stop in pieces:
        text = " ".join(without_attributes(masked[begin:stop]).split())
        kind, index = "buffer", explicit.get(begin, -1)
        for _, _, name, argument in attributes(masked, begin, stop):
            if name in POSITIONS:
                kind = name
            if name == "threadgroup" and argument >= 0:
                kind, index = "threadgroup", int(masked[argument : close(masked, argument - 1) - 1])
        if kind == "buffer" and index < 0:
            index = next(free)
        if kind == "buffer" and not re.search(r"\b(?:device|constant|threadgroup)\b", text):
            raise TranslationError(f"'{text}' needs an address space or an attribute", begin)
        parameters.append(Parameter(text, kind, max(index, 0)))
    return tuple(parameters)
