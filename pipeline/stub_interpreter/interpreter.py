"""Runs the functions and statements of a stub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pipeline.stub_interpreter import syntax
from pipeline.stub_interpreter.errors import NotUnderstoodError
from pipeline.stub_interpreter.evaluate import Closure, Evaluator, truth
from pipeline.stub_interpreter.numbers import Number
from pipeline.stub_interpreter.types import Macro, Native
from pipeline.stub_interpreter.values import MISSING, Alias, Array, Memory, copied

_MOST_STEPS = 200_000


@dataclass
class _Left:
    """A statement left its block: by `return` (with a value), `break` or `continue`."""

    word: str
    value: object = None


class Interpreter(Evaluator):
    """Runs functions of one stub file.

    `natives` and `macros` are what the file may call, `constants` what it may name. Among the natives, "." answers
    member functions, "::" every other function, and "[]" Objective-C messages.
    """

    def __init__(
        self,
        file: syntax.StubFile,
        structs: Sequence[syntax.Struct],
        natives: dict[str, Native],
        macros: dict[str, Macro],
        constants: dict[str, object],
        path: str = "",
    ) -> None:
        self.functions: dict[str, list[syntax.Function]] = {}
        for function in file.functions:
            self.functions.setdefault(function.name, []).append(function)
        self.structs = {each.name: each for each in (*structs, *file.structs)}
        self.natives = natives
        self.macros = macros
        self.constants = constants
        self.path = path
        self._steps = 0

    def call(self, name: str, arguments: Sequence[object], template: tuple[str, ...] = ()) -> object:
        """Run a function of the file. Raises NotUnderstoodError, and what its checks raise."""
        candidates = [each for each in self.functions.get(name, []) if _accepts(each, len(arguments))]
        if not candidates:
            raise NotUnderstoodError(f"no function {name} of {len(arguments)} arguments", path=self.path or None)
        if len(candidates) > 1:
            values = [self.referred(each) for each in arguments]
            candidates = [each for each in candidates if _takes(each, values)]
        if len(candidates) != 1:
            raise NotUnderstoodError(f"which {name} of {len(arguments)} arguments is called", path=self.path or None)
        function = candidates[0]
        memory = Memory(types=dict(zip(function.template, template, strict=False)))
        for index, parameter in enumerate(function.parameters):
            if index < len(arguments):
                memory.names[parameter.name] = self._given(parameter, arguments[index], memory)
            elif parameter.default is not None:
                memory.names[parameter.name] = self.evaluate(parameter.default, memory)
        left = self._block(function.body, memory)
        return None if left is None else self.converted(function.result, left.value, memory)

    def _given(self, parameter: syntax.Parameter, argument: object, memory: Memory) -> object:
        """What a parameter holds: the argument's place where it refers to that, else a value of its own."""
        if not isinstance(argument, Alias):
            return copied(self.converted(parameter.type, argument, memory))
        if parameter.changeable:
            return argument
        return copied(self.converted(parameter.type, self.referred(argument), memory))

    def invoke(self, function: object, arguments: Sequence[object]) -> object:
        """Call a lambda."""
        if not isinstance(function, Closure):
            raise NotUnderstoodError(f"{type(function).__name__} is called")
        memory = Memory(outer=function.memory)
        for parameter, value in zip(function.node.parameters, arguments, strict=False):
            memory.names[parameter.name] = copied(self.converted(parameter.type, value, memory))
        left = self._block(function.node.body, memory)
        value = left.value if left is not None else None
        return value if function.node.result is None else self.converted(function.node.result, value, memory)

    def build(self, name: str, items: Sequence[object], template: tuple[str, ...]) -> object:
        if name not in self.natives:
            raise NotUnderstoodError(f"the type {name}")
        return self.natives[name](self, items, template)

    def native(self, name: str, arguments: Sequence[object], template: tuple[str, ...] = ()) -> object:
        return self.natives[name](self, arguments, template)

    def knows(self, name: str) -> bool:
        return name in self.natives

    def macro(self, macro: Macro, nodes: Sequence[syntax.Expression], memory: Memory) -> object:
        return macro(self, nodes, memory)

    def error(self, message: str, node: syntax.Node) -> NotUnderstoodError:
        return NotUnderstoodError(message, path=self.path or None, line=node.line)

    def _block(self, block: syntax.Block, memory: Memory) -> _Left | None:
        inner = Memory(outer=memory)
        for statement in block.statements:
            left = self._execute(statement, inner)
            if left is not None:
                return left
        return None

    def _execute(self, statement: syntax.Statement, memory: Memory) -> _Left | None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise NotUnderstoodError("the stub loops without end", path=self.path or None, line=statement.line)
        match statement:
            case syntax.Evaluate():
                self.evaluate(statement.expression, memory)
            case syntax.Declare():
                self._declare(statement, memory)
            case syntax.Return():
                return _Left("return", None if statement.value is None else self.evaluate(statement.value, memory))
            case syntax.If():
                if truth(self.evaluate(statement.condition, memory)):
                    return self._execute(statement.then, memory)
                if statement.otherwise is not None:
                    return self._execute(statement.otherwise, memory)
            case syntax.Block():
                return self._block(statement, memory)
            case syntax.Several():
                for each in statement.statements:
                    self._execute(each, memory)
            case syntax.Using():
                memory.types[statement.name] = self.resolved(statement.type, memory)
            case syntax.ForEach():
                return self._for_each(statement, memory)
            case syntax.For():
                return self._for(statement, memory)
            case syntax.While():
                return self._loop(statement.condition, statement.body, None, memory)
            case syntax.Leave():
                return _Left(statement.word)
        return None

    def _declare(self, statement: syntax.Declare, memory: Memory) -> None:
        place = self.alias(statement.value, memory) if statement.changeable and statement.value is not None else None
        if place is not None and len(statement.names) == 1:
            memory.names[statement.names[0]] = place
            return
        value = MISSING if statement.value is None else self.evaluate(statement.value, memory)
        if len(statement.names) > 1:
            items = value.items if isinstance(value, Array) else list(value) if isinstance(value, tuple) else []
            memory.names.update(zip(statement.names, items, strict=True))
            return
        memory.names[statement.names[0]] = copied(self.converted(statement.type, value, memory))

    def _for_each(self, statement: syntax.ForEach, memory: Memory) -> _Left | None:
        items = self.evaluate(statement.items, memory)
        if not isinstance(items, Array):
            raise self.error("a loop over something that is no list", statement)
        held = syntax.Literal(statement.line, items)
        for index, item in enumerate(items.items):
            inner = Memory(outer=memory)
            if len(statement.names) == 1 and statement.changeable:
                at = syntax.Literal(statement.line, Number(index, "int64_t"))
                inner.names[statement.names[0]] = Alias(syntax.Index(statement.line, held, at), memory)
            elif len(statement.names) == 1:
                inner.names[statement.names[0]] = copied(item)
            elif isinstance(item, tuple):
                inner.names.update(zip(statement.names, item, strict=True))
            left = self._execute(statement.body, inner)
            if left is not None and left.word == "return":
                return left
            if left is not None and left.word == "break":
                break
        return None

    def _for(self, statement: syntax.For, memory: Memory) -> _Left | None:
        inner = Memory(outer=memory)
        if statement.start is not None:
            self._execute(statement.start, inner)
        return self._loop(statement.condition, statement.body, statement.step, inner)

    def _loop(
        self,
        condition: syntax.Expression | None,
        body: syntax.Statement,
        step: syntax.Expression | None,
        memory: Memory,
    ) -> _Left | None:
        while condition is None or truth(self.evaluate(condition, memory)):
            left = self._execute(body, memory)
            if left is not None and left.word == "return":
                return left
            if left is not None and left.word == "break":
                break
            if step is not None:
                self.evaluate(step, memory)
        return None


def _takes(function: syntax.Function, arguments: Sequence[object]) -> bool:
    """Whether tensors among the arguments stand where the parameters are tensors, which is what overloads differ in."""
    pairs = zip(function.parameters, arguments, strict=False)
    return all(isinstance(argument, torch.Tensor) == ("Tensor" in parameter.type) for parameter, argument in pairs)


def _accepts(function: syntax.Function, count: int) -> bool:
    needed = sum(parameter.default is None for parameter in function.parameters)
    return needed <= count <= len(function.parameters)
