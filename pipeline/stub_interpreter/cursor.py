"""Walking over tokens, and reading the types among them."""

from __future__ import annotations

import re
from functools import cache

from pipeline.stub_interpreter.errors import NotUnderstoodError
from pipeline.stub_interpreter.tokens import Token, tokenize

_NAMESPACES = ("std::", "at::", "c10::", "mps::", "native::", "metal::", "::")
_QUALIFIERS = {"const", "static", "constexpr", "inline", "volatile", "typename", "struct", "__block", "mutable"}
_COMPOUND = {"unsigned", "signed", "long", "short", "int", "char"}


class Cursor:
    """A position in a list of tokens."""

    def __init__(self, text: str, path: str = "") -> None:
        self.path = path
        self.tokens = tokenize(text, path)
        self.position = 0
        self.changeable = False  # whether the type read last is a reference to what may be changed

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def line(self) -> int:
        return self.token.line

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    def at(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind in ("sign", "word")

    def next(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def accept(self, *texts: str) -> bool:
        if self.at(*texts):
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.at(text):
            raise self.error(f"expected {text!r}, found {self.token.text!r}")
        return self.next()

    def word(self) -> str:
        if self.token.kind != "word":
            raise self.error(f"expected a name, found {self.token.text!r}")
        return self.next().text

    def error(self, message: str) -> NotUnderstoodError:
        return NotUnderstoodError(message, path=self.path or None, line=self.line)

    def skip_brackets(self) -> None:
        """Past the bracket that matches the one here."""
        depth = 0
        while True:
            token = self.next()
            if token.kind == "end":
                raise self.error("a bracket is never closed")
            if token.kind == "sign" and token.text in "([{":
                depth += 1
            elif token.kind == "sign" and token.text in ")]}":
                depth -= 1
                if depth == 0:
                    return

    def skip_statement(self) -> None:
        """Past the next semicolon outside of brackets."""
        while not self.at(";"):
            if self.token.kind == "end":
                return
            if self.at("(", "[", "{"):
                self.skip_brackets()
            else:
                self.next()
        self.next()

    def try_type(self) -> str | None:
        """A type read from here, normalized; None, without having moved, when there is none."""
        start = self.position
        constant = False
        while self.token.text in _QUALIFIERS:
            constant |= self.next().text == "const"
        if self.token.text in _COMPOUND:
            words = []
            while self.token.text in _COMPOUND:
                words.append(self.next().text)
            name = " ".join(words)
        else:
            path = self.try_path()
            if path is None:
                self.position = start
                return None
            name = path
        signs = []
        while self.at("const", "*", "&", "&&"):
            signs.append(self.next().text)
        self.changeable = not constant and "const" not in signs and signs[-1:] in (["&"], ["&&"])
        return normalized(name)

    def try_path(self) -> str | None:
        """`a::b<c>::d` as text; None, without having moved, when there is no name."""
        start = self.position
        self.accept("::")
        if self.token.kind != "word":
            self.position = start
            return None
        text = self.next().text
        while True:
            arguments = self.try_template() if self.at("<") else None
            if arguments is not None:
                text += f"<{','.join(arguments)}>"
            if self.at("::") and self.peek().kind == "word":
                self.next()
                text += f"::{self.next().text}"
            else:
                return text

    def try_template(self) -> tuple[str, ...] | None:
        """`<type, 4>` as normalized arguments; None, without having moved, when this is a comparison."""
        start = self.position
        self.expect("<")
        arguments: list[str] = []
        while not self.at(">"):
            if self.token.kind == "number":
                arguments.append(self.next().text)
            else:
                name = self.try_type()
                if name is None:
                    self.position = start
                    return None
                arguments.append(name)
            if not self.accept(",") and not self.at(">"):
                self.position = start
                return None
        self.expect(">")
        return tuple(arguments)


@cache
def normalized(name: str) -> str:
    """A type or function name without the namespaces that PyTorch's own code is in."""
    changed = True
    while changed:
        changed = False
        for namespace in _NAMESPACES:
            if name.startswith(namespace):
                name = name[len(namespace) :]
                changed = True
    return re.sub(r"(?<=[<,])(?:std::|at::|c10::|mps::|::)+", "", name)
