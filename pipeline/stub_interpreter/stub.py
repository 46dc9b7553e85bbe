"""A stub's text, ready to be run with tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.exec_kernel.execute import Dispatched, Kernels
from pipeline.exec_kernel.launch import Force
from pipeline.stub_interpreter import aten, members, metal, standard
from pipeline.stub_interpreter.errors import NotUnderstoodError
from pipeline.stub_interpreter.interpreter import Interpreter
from pipeline.stub_interpreter.macros import MACROS
from pipeline.stub_interpreter.metal import Library
from pipeline.stub_interpreter.parser import parse, structs_of
from pipeline.stub_interpreter.syntax import Function, StubFile

_NATIVES = {**standard.NATIVES, **aten.NATIVES, **metal.NATIVES, ".": members.member}


class StubText:
    """The functions of a stub file. Raises NotUnderstoodError when it cannot be read.

    `struct_sources` are texts of Metal files and headers that define the params structs it uses.
    """

    def __init__(self, text: str, struct_sources: Sequence[str] = (), path: str = "") -> None:
        self.text = text
        self.file: StubFile = parse(text, path)
        self.path = path
        words = frozenset(re.findall(r"\w+", text))
        self._structs = [struct for source in struct_sources for struct in structs_of(source, words)]

    @property
    def registered(self) -> dict[str, str]:
        """Dispatch stub -> function."""
        return self.file.registered

    def function(self, name: str) -> Function | None:
        return next((each for each in self.file.functions if each.name == name), None)

    def run(
        self, function: str, arguments: Sequence[object], kernels: Kernels, force: Force | None = None
    ) -> tuple[object, list[Dispatched]]:
        """Call a function of the stub; returns its result and what it dispatched.

        Raises NotUnderstoodError, CheckFailedError, MissingKernelError and what the exec helpers raise.
        """
        library = Library(kernels, force)
        return self.call(function, arguments, library), library.dispatched

    def call(self, function: str, arguments: Sequence[object], library: Library) -> object:
        """Call a function of the stub with `library` as its `lib`. Raises what the library does, and as `run`."""
        constants = {**aten.CONSTANTS, "lib": library}
        interpreter = Interpreter(self.file, self._structs, _NATIVES, MACROS, constants, self.path)
        try:
            return interpreter.call(function, arguments)
        except RecursionError:
            raise NotUnderstoodError(f"{function} calls itself without end", path=self.path or None) from None
