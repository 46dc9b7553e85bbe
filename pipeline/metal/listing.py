"""The kernels a shader registers and what their arguments are, told from its preprocessed text: nothing is compiled."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from pipeline.metal.build import Shader, preprocess
from pipeline.metal.cache import Cache, default_folder
from pipeline.metal.options import Compilation
from pipeline.metal.scan import angle_end, mask, position_of, split_commas
from pipeline.metal.signature import Head, Parameter, definition_of, kernel_heads, parameters_of
from pipeline.metal.sizes import Sizes
from pipeline.metal.toolchain import ToolchainError

_TEMPLATE_PARAMETER = re.compile(r"(?:typename|class|\w[\w:<>]*)\s+(\w+)\s*(?:=.*)?", re.DOTALL)
_POINTER = re.compile(r"(?P<type>.*?)\s*(?P<mark>[*&])\s*(?:const\s*)?\w*\Z", re.DOTALL)
_SPACES = re.compile(r"\b(?:const|device|constant|threadgroup|thread|volatile)\b")


@dataclass(frozen=True)
class Argument:
    """One entry of a kernel's argument table.

    `type` is what the kernel finds there, template arguments filled in; empty where the text does not say. A reference
    is to one object of `size` bytes, None where that is not known; else it is the start of many. `is_written` may be.
    """

    index: int
    type: str
    is_reference: bool
    is_written: bool
    size: int | None


class Listing:
    """`names` are the host names in the order of the text."""

    def __init__(self, preprocessed: str) -> None:
        self._text = preprocessed
        self._masked = mask(preprocessed)
        heads = list(kernel_heads(preprocessed, self._masked))
        self._definitions = [head for head in heads if head.body_at is not None]
        self._heads = {head.kernel_name: head for head in heads if head.is_entry}
        self._sizes = Sizes(self._masked)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._heads)

    def place(self, name: str) -> tuple[str, int]:
        """File and line (1-based) of the registration."""
        return position_of(self._text, self._heads[name].start)

    def arguments(self, name: str) -> Mapping[int, Argument]:
        """By index. Raises KeyError for an unknown name, TranslationError where there is no definition."""
        head = self._heads[name]
        definition = definition_of(self._masked, head, self._definitions)
        bindings = self._bindings(head, definition)
        parameters = parameters_of(self._masked, definition)
        return {each.index: self._argument(each, bindings) for each in parameters if each.kind == "buffer"}

    def _argument(self, parameter: Parameter, bindings: Mapping[str, str]) -> Argument:
        text = re.sub(r"\w+", lambda word: bindings.get(word[0], word[0]), _SPACES.sub(" ", parameter.text))
        match = _POINTER.match(" ".join(text.split()))
        type_ = match["type"].strip() if match and not re.search(r"[*&]", match["type"]) else ""
        size = self._sizes.of(type_) if type_ and parameter.is_reference else None
        written = parameter.space == "device" and "const " not in parameter.text
        return Argument(parameter.index, type_, parameter.is_reference, written, size)

    def _bindings(self, head: Head, definition: Head) -> dict[str, str]:
        """Template parameter -> what the instantiation gives for it."""
        opening = head.name.find("<")
        names = list(_template_parameters(definition.prefix))
        if opening < 0 or not names:
            return {}
        given = head.name[opening + 1 : angle_end(head.name, opening) - 1]
        values = [given[slice(*piece)].strip() for piece in split_commas(given, 0, len(given))]
        return dict(zip(names, values, strict=False))


def list_kernels(
    source: str,
    *,
    include: Sequence[str | PathLike[str]] = (),
    name: str = "program_source",
    compilation: Compilation = Compilation(),
    cache: Cache | None = None,
) -> Listing:
    """The kernels of a shader; arguments as for `compile_shader`.

    Raises ShaderError where an include is missing or a directive is wrong, TranslationError for a declaration that
    cannot be read.
    """
    folders = [Path(folder) for folder in include] or [_torch_headers()]
    return Listing(preprocess(Shader(source, name), folders, compilation, cache or Cache(default_folder())))


def _torch_headers() -> Path:
    """The installed torch's, found without importing it."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise ToolchainError("torch is not installed and no headers are given")
    return Path(found.origin).parent / "include"


def _template_parameters(prefix: str) -> Iterator[str]:
    masked = mask(prefix)
    template = re.search(r"\btemplate\s*<", masked)
    if template is None:
        return
    inside = masked[template.end() : angle_end(masked, template.end() - 1) - 1]
    for piece in split_commas(inside, 0, len(inside)):
        match = _TEMPLATE_PARAMETER.fullmatch(inside[slice(*piece)].strip())
        if match is None:
            return
        yield match[1]
