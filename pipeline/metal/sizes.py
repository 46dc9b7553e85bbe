"""Sizes of types in Metal Shading Language, from the text of a shader (MSL specification, 2.1 to 2.6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.metal.scan import angle_end, close, split_commas

_SCALARS = {
    1: ("bool", "char", "uchar", "int8_t", "uint8_t"),
    2: ("short", "ushort", "int16_t", "uint16_t", "half", "bfloat"),
    4: ("int", "uint", "int32_t", "uint32_t", "float"),
    8: ("long", "ulong", "int64_t", "uint64_t", "size_t", "ptrdiff_t"),
}
_SIZES = {name: size for size, names in _SCALARS.items() for name in names}
_WORDS = {
    "unsigned": "uint",
    "unsigned int": "uint",
    "signed": "int",
    "unsigned char": "uchar",
    "signed char": "char",
    "unsigned short": "ushort",
    "unsigned long": "ulong",
    "long int": "long",
}
_VECTOR = re.compile(rf"(packed_)?({'|'.join(sorted(_SIZES, key=len, reverse=True))})([234])")
_STRUCT = re.compile(
    r"(?:\btemplate\s*<(?P<parameters>[^<>{};]*)>\s*)?\bstruct\s+(?P<name>\w+)\s*(?P<base>:[^{};]*)?\{"
)
_ALIAS = re.compile(
    r"\btypedef\s+(?P<old>[^;{}()]+?)\s+(?P<new>\w+)\s*;|\busing\s+(?P<left>\w+)\s*=\s*(?P<right>[^;{}]+?)\s*;"
)
_ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(?P<name>\w+)\s*(?::\s*(?P<type>[\w ]+?)\s*)?\{")
_FIELD = re.compile(
    r"(?P<type>.+?[\s>*])(?P<names>\w+\s*(?:\[[^\]]*\]\s*)*(?:,\s*\w+\s*(?:\[[^\]]*\]\s*)*)*)", re.DOTALL
)
_DEPTH = 20


@dataclass(frozen=True)
class _Layout:
    size: int
    alignment: int


@dataclass(frozen=True)
class _Struct:
    parameters: tuple[str, ...]
    body: str
    has_base: bool


class Sizes:
    """The types that `masked`, preprocessed text without strings, defines."""

    def __init__(self, masked: str) -> None:
        self._structs = {
            match["name"]: _Struct(
                tuple(re.findall(r"(?:typename|class)\s+(\w+)", match["parameters"] or "")),
                masked[match.end() : close(masked, match.end() - 1) - 1],
                match["base"] is not None,
            )
            for match in _STRUCT.finditer(masked)
        }
        self._aliases = {
            match["new"] or match["left"]: match["old"] or match["right"] for match in _ALIAS.finditer(masked)
        }
        self._enums = {match["name"]: match["type"] or "int" for match in _ENUM.finditer(masked)}

    def of(self, name: str) -> int | None:
        """Bytes of an object of the type `name`, which has no free template parameters. None where it is not known."""
        layout = self._layout(name, 0)
        return layout.size if layout is not None else None

    def _layout(self, name: str, depth: int) -> _Layout | None:
        name = re.sub(
            r"\b(?:const|constant|device|thread|threadgroup|struct)\b|::metal::|\bmetal::|\bc10::metal::", " ", name
        )
        name = re.sub(r"\s+", " ", name.replace("::", " ")).strip()
        if depth > _DEPTH:
            return None
        if name.endswith("*"):
            return _Layout(8, 8)
        name = _WORDS.get(name, name)
        if name in _SIZES:
            return _Layout(_SIZES[name], _SIZES[name])
        vector = _VECTOR.fullmatch(name)
        if vector:
            return _vector(_SIZES[vector[2]], int(vector[3]), packed=vector[1] is not None)
        if name in self._aliases:
            return self._layout(self._aliases[name], depth + 1)
        if name in self._enums:
            return self._layout(self._enums[name], depth + 1)
        base, arguments = _split(name)
        if base == "array" and len(arguments) == 2 and arguments[1].isdigit():
            return _repeated(self._layout(arguments[0], depth + 1), int(arguments[1]))
        if base == "vec" and len(arguments) == 2 and arguments[1].isdigit():
            return self._layout(f"{_WORDS.get(arguments[0], arguments[0])}{arguments[1]}", depth + 1)
        if base == "atomic" and len(arguments) == 1:
            return self._layout(arguments[0], depth + 1)
        return self._of_struct(base, arguments, depth)

    def _of_struct(self, base: str, arguments: tuple[str, ...], depth: int) -> _Layout | None:
        struct = self._structs.get(base)
        if struct is None or struct.has_base or len(struct.parameters) != len(arguments):
            return None
        bindings = dict(zip(struct.parameters, arguments, strict=True))
        size, alignment = 0, 1
        for type_, count in _fields(struct.body):
            filled = re.sub(r"\w+", lambda word: bindings.get(word[0], word[0]), type_)
            layout = None if count is None else _repeated(self._layout(filled, depth + 1), count)
            if layout is None:
                return None
            size = -(-size // layout.alignment) * layout.alignment + layout.size
            alignment = max(alignment, layout.alignment)
        return _Layout(-(-max(size, 1) // alignment) * alignment, alignment)


def _vector(element: int, count: int, packed: bool) -> _Layout:
    if packed:
        return _Layout(element * count, element)
    size = element * (4 if count == 3 else count)
    return _Layout(size, size)


def _repeated(layout: _Layout | None, count: int) -> _Layout | None:
    return None if layout is None else _Layout(layout.size * count, layout.alignment)


def _split(name: str) -> tuple[str, tuple[str, ...]]:
    """`array<float, 3>` -> array, (float, 3)."""
    opening = name.find("<")
    if opening < 0:
        return name, ()
    inside = name[opening + 1 : angle_end(name, opening) - 1]
    return name[:opening].strip(), tuple(
        inside[slice(*piece)].strip() for piece in split_commas(inside, 0, len(inside))
    )


def _fields(body: str) -> Iterator[tuple[str, int | None]]:
    """Type and number of elements of each data member; None for a number that is no literal."""
    at = 0
    for stretch in _declarations(body):
        at += 1
        match = _FIELD.fullmatch(stretch)
        if match is None or re.match(r"(?:static|using|typedef|friend|template)\b", stretch):
            continue
        for name in match["names"].split(","):
            sizes = re.findall(r"\[([^\]]*)\]", name)
            count = 1
            for size in sizes:
                count = count * int(size) if size.strip().isdigit() else -1
            yield match["type"].strip(), count if count > 0 else None


def _declarations(body: str) -> Iterator[str]:
    """The declarations of a struct's body, functions left out."""
    start = at = 0
    while at < len(body):
        character = body[at]
        if character == "{":
            at = start = close(body, at)
        elif character == "(":
            at = close(body, at)
        elif character == ";":
            text = re.sub(r"=.*", "", body[start:at], flags=re.DOTALL).strip()
            if text and "(" not in text:
                yield " ".join(text.split())
            at = start = at + 1
        else:
            at += 1
