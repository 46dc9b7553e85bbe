"""A stub's text as functions, structs and registrations."""

from __future__ import annotations

import re
from collections.abc import Container

from pipeline.stub_interpreter.errors import NotUnderstoodError
from pipeline.stub_interpreter.expressions import ExpressionParser
from pipeline.stub_interpreter.syntax import (
    Block,
    Braced,
    Construct,
    Declare,
    Evaluate,
    Expression,
    For,
    ForEach,
    Function,
    If,
    Leave,
    Return,
    Several,
    Statement,
    Struct,
    StructField,
    StubFile,
    Using,
    While,
)

_AFTER_NAME = ("=", "{", "(", ";", ",", ":", "[")
_REGISTRATION = re.compile(r"REGISTER_\w*DISPATCH\w*")


class Parser(ExpressionParser):
    """Reads one file. Raises NotUnderstoodError with file and line."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text, path)
        self.body = self.block

    def file(self) -> StubFile:
        functions: list[Function] = []
        structs: list[Struct] = []
        registered: dict[str, str] = {}
        while self.token.kind != "end":
            if self.accept("}", ";"):
                continue
            if self.at("namespace"):
                while not self.at("{"):
                    self.next()
                self.next()
            elif self.at("using"):
                self.skip_statement()
            elif _REGISTRATION.fullmatch(self.token.text):
                registered.update([self._registration()])
            elif self.at("TORCH_IMPL_FUNC"):
                functions.append(self._implementation())
            else:
                self._definition(functions, structs)
        return StubFile(tuple(functions), tuple(structs), registered)

    def _registration(self) -> tuple[str, str]:
        """`REGISTER_DISPATCH(x_stub, &x_kernel)`, or the one-word macros of UnaryKernel.mm."""
        self.next()
        self.expect("(")
        stub = self.word()
        function = ""
        while not self.accept(")"):
            token = self.next()
            if token.kind == "word":
                function = token.text
        if function:
            return stub, function
        return f"{stub}_stub", f"{stub}_kernel_mps"

    def _implementation(self) -> Function:
        line = self.next().line
        self.expect("(")
        name = self.word()
        self.expect(")")
        return Function(line, name, self.parameters(), "void", self.block(), implements=True)

    def _definition(self, functions: list[Function], structs: list[Struct]) -> None:
        template = self._template_parameters() if self.at("template") else ()
        if self.at("struct") and self.peek(2).text == "{":
            structs.append(self._struct(template))
            return
        line, start = self.line, self.position
        result = self.try_type()
        if result is not None and self.token.kind == "word" and self.peek().text == "(":
            name = self.word()
            parameters = self.parameters()
            if self.at("{"):
                functions.append(Function(line, name, parameters, result, self.block(), template))
                return
        self.position = start
        self.skip_statement()

    def _template_parameters(self) -> tuple[str, ...]:
        self.expect("template")
        self.expect("<")
        names: list[str] = []
        while not self.accept(">"):
            if not self.accept("typename", "class"):
                self.try_type()
            names.append(self.word())
            self.accept(",")
        return tuple(names)

    def _struct(self, template: tuple[str, ...]) -> Struct:
        self.expect("struct")
        name = self.word()
        self.expect("{")
        fields: list[StructField] = []
        while not self.accept("}"):
            kind = self.try_type()
            if kind is None or self.token.kind != "word":
                raise self.error(f"a member of struct {name} that is not plain data")
            while True:
                field, count = self.word(), None
                if self.accept("["):
                    count = int(self.next().text)
                    self.expect("]")
                fields.append(StructField(kind, field, count))
                if not self.accept(","):
                    break
            if self.accept("="):
                self.initializer()
            self.expect(";")
        return Struct(name, template, tuple(fields))

    def block(self) -> Block:
        line = self.expect("{").line
        statements: list[Statement] = []
        while not self.accept("}"):
            if self.token.kind == "end":
                raise self.error("a block is never closed")
            found = self.statement()
            if found is not None:
                statements.append(found)
        return Block(line, tuple(statements))

    def statement(self) -> Statement | None:
        line = self.line
        if self.accept(";"):
            return None
        if self.at("{"):
            return self.block()
        if self.accept("@autoreleasepool"):
            return self.block()
        if self.accept("return"):
            value = None if self.at(";") else self.initializer()
            self.expect(";")
            return Return(line, value)
        if self.accept("if"):
            self.accept("constexpr")
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            then = self._nested()
            return If(line, condition, then, self._nested() if self.accept("else") else None)
        if self.accept("for"):
            return self._for(line)
        if self.accept("while"):
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            return While(line, condition, self._nested())
        if self.at("break", "continue"):
            word = self.next().text
            self.expect(";")
            return Leave(line, word)
        if self.at("using"):
            return self._using(line)
        declared = self._declaration(line)
        if declared is not None:
            return declared
        expression = self.expression()
        if not self.accept(";") and not self.at("}") and self.tokens[self.position - 1].text != ")":
            raise self.error(f"expected ';', found {self.token.text!r}")
        return Evaluate(line, expression)

    def _nested(self) -> Statement:
        return self.statement() or Block(self.line, ())

    def _using(self, line: int) -> Statement | None:
        self.expect("using")
        if self.at("namespace"):
            self.skip_statement()
            return None
        name = self.word()
        if not self.accept("="):
            self.skip_statement()
            return None
        kind = self.try_type()
        self.expect(";")
        return Using(line, name, kind or "")

    def _for(self, line: int) -> Statement:
        self.expect("(")
        start = self.position
        kind, changeable = self.try_type(), self.changeable
        if kind is not None:
            names = self._names()
            if names and self.accept(":"):
                items = self.initializer()
                self.expect(")")
                return ForEach(line, names, items, self._nested(), changeable)
        self.position = start
        first = self.statement()
        condition = None if self.at(";") else self.expression()
        self.expect(";")
        step = None if self.at(")") else self.expression()
        self.expect(")")
        return For(line, first, condition, step, self._nested())

    def _names(self) -> tuple[str, ...]:
        """A name, or those of a structured binding."""
        if self.accept("["):
            names = [self.word()]
            while self.accept(","):
                names.append(self.word())
            self.expect("]")
            return tuple(names)
        return (self.word(),) if self.token.kind == "word" else ()

    def _declaration(self, line: int) -> Statement | None:
        """`type name ...;`, or None without having moved."""
        start = self.position
        kind, changeable = self.try_type(), self.changeable
        binds = kind == "auto" and self.at("[")
        if kind is None or not (binds or (self.token.kind == "word" and self.peek().text in _AFTER_NAME)):
            self.position = start
            return None
        found: list[Statement] = []
        while True:
            names = self._names()
            found.append(Declare(line, kind, names, self._value(kind), changeable))
            if not self.accept(","):
                break
        self.expect(";")
        return found[0] if len(found) == 1 else Several(line, tuple(found))

    def _value(self, kind: str) -> Expression | None:
        line = self.line
        if self.accept("="):
            value = self.initializer()
            return Construct(line, kind, value.items) if isinstance(value, Braced) and kind != "auto" else value
        if self.at("{", "("):
            close = "}" if self.next().text == "{" else ")"
            items = self.arguments(close)
            if kind == "auto":
                return items[0] if len(items) == 1 else Braced(line, items)
            return Construct(line, kind, items)
        return None if kind == "auto" else Construct(line, kind, ())


def parse(text: str, path: str = "") -> StubFile:
    """Raises NotUnderstoodError."""
    return Parser(text, path).file()


_STRUCT = re.compile(r"(?:template\s*<[^<>{}]*>\s*)?struct\s+(?P<name>\w+)\s*\{")


def structs_of(text: str, wanted: Container[str]) -> list[Struct]:
    """The structs of plain members with one of these names in a Metal text or header."""
    found: list[Struct] = []
    for start in _STRUCT.finditer(text):
        if start["name"] not in wanted:
            continue
        depth, end = 0, start.end() - 1
        while end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
        try:
            found += parse(text[start.start() : end] + ";").structs
        except NotUnderstoodError:
            continue
    return found
