"""Expressions of a stub: precedence climbing over the tokens."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from functools import cache

from pipeline.stub_interpreter.cursor import Cursor, normalized
from pipeline.stub_interpreter.numbers import Number, canonical, fitted, size_of
from pipeline.stub_interpreter.syntax import (
    Assign,
    Binary,
    Block,
    Braced,
    Call,
    Cast,
    Conditional,
    Construct,
    Expression,
    Index,
    Lambda,
    Literal,
    Member,
    Message,
    Name,
    Parameter,
    Step,
    Unary,
)

_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=")
_CASTS = ("static_cast", "const_cast", "reinterpret_cast", "__builtin_bit_cast")


class ExpressionParser(Cursor):
    """`body` reads a block, for lambdas."""

    body: Callable[[], Block]

    def expression(self) -> Expression:
        left = self._conditional()
        if self.at(*_ASSIGNMENTS):
            line, sign = self.line, self.next().text
            return Assign(line, sign, left, self.initializer())
        return left

    def initializer(self) -> Expression:
        """An expression or a braced list."""
        return self._braced() if self.at("{") else self.expression()

    def arguments(self, close: str = ")") -> tuple[Expression, ...]:
        """Up to and including `close`; the opening bracket is behind us."""
        items: list[Expression] = []
        while not self.accept(close):
            items.append(self.initializer())
            self.accept("...")
            if not self.accept(",") and not self.at(close):
                raise self.error(f"expected ',' or {close!r}, found {self.token.text!r}")
        return tuple(items)

    def parameters(self) -> tuple[Parameter, ...]:
        """`(type name, ...)`."""
        self.expect("(")
        found: list[Parameter] = []
        while not self.accept(")"):
            kind = self.try_type()
            if kind is None:
                raise self.error(f"expected a parameter, found {self.token.text!r}")
            changeable = self.changeable
            self.accept("...")
            name = self.word() if self.token.kind == "word" else ""
            default = self.initializer() if self.accept("=") else None
            if not (kind == "void" and not name):
                found.append(Parameter(kind, name, default, changeable))
            self.accept(",")
        return tuple(found)

    def _conditional(self) -> Expression:
        condition = self._binary(0)
        if not self.at("?"):
            return condition
        line = self.next().line
        then = self.initializer()
        self.expect(":")
        return Conditional(line, condition, then, self.initializer())

    def _binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while True:
            sign = self._sign(_LEVELS[level])
            if sign is None:
                return left
            line = self.line
            self.position += len(sign) if sign == ">>" else 1
            left = Binary(line, sign, left, self._binary(level + 1))

    def _sign(self, signs: tuple[str, ...]) -> str | None:
        if self.token.kind != "sign":
            return None
        after = self.peek()
        shifts = self.at(">") and after.text == ">" and after.start == self.token.start + 1
        text = ">>" if shifts else self.token.text
        return text if text in signs else None

    def _unary(self) -> Expression:
        line = self.line
        if self.at("-", "!", "~", "+", "*", "&"):
            sign = self.next().text
            operand = self._unary()
            return operand if sign in ("*", "&", "+") else Unary(line, sign, operand)
        if self.at("++", "--"):
            return Step(line, self.next().text, self._unary(), True)
        return self._postfix(self._primary())

    def _postfix(self, value: Expression) -> Expression:
        while True:
            line = self.line
            if self.accept("("):
                value = Call(line, value, self.arguments())
            elif self.accept("["):
                value = Index(line, value, self.expression())
                self.expect("]")
            elif self.accept(".", "->"):
                self.accept("template")
                name = self.word()
                template = self.try_template() if self.at("<") else None
                if template is not None and not self.at("(", "{"):
                    raise self.error("template arguments without a call")
                value = Member(line, value, name, template or ())
            elif self.at("++", "--"):
                value = Step(line, self.next().text, value, False)
            else:
                return value

    def _primary(self) -> Expression:
        line, token = self.line, self.token
        if token.kind == "number":
            self.next()
            return Literal(line, _number(token.text))
        if token.kind == "string":
            text = ""
            while self.token.kind == "string":
                text += _string(self.next().text)
            return Literal(line, text)
        if token.kind == "char":
            self.next()
            return Literal(line, Number(ord(ast.literal_eval(token.text)), "char"))
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.at("["):
            return self._bracket()
        if self.at("^"):
            self.next()
            parameters = self.parameters() if self.at("(") else ()
            return Lambda(line, parameters, self.body())
        if self.at("{"):
            return self._braced()
        if token.kind == "word" or token.text == "::":
            return self._named()
        raise self.error(f"cannot read {token.text!r} here")

    def _braced(self) -> Braced:
        line = self.expect("{").line
        return Braced(line, self.arguments("}"))

    def _named(self) -> Expression:
        line, token = self.line, self.token
        constants = {"true": Number(True, "bool"), "false": Number(False, "bool"), "YES": Number(True, "bool")}
        if token.text in constants or token.text in ("nullptr", "nil", "NO"):
            self.next()
            return Literal(line, constants.get(token.text, Number(False, "bool") if token.text == "NO" else None))
        if token.text == "sizeof":
            self.next()
            self.expect("(")
            size = size_of(canonical(self.try_type() or "") or "int64_t")
            self.expect(")")
            return Literal(line, Number(size, "uint64_t"))
        if token.text in _CASTS:
            self.next()
            template = self.try_template() if self.at("<") else None
            if template is None and token.text != "__builtin_bit_cast":
                raise self.error(f"{token.text} without a type")
            self.expect("(")
            if template is None:
                template = (self.try_type() or "",)
                self.expect(",")
            operand = self.expression()
            self.expect(")")
            return Cast(line, template[0], operand)
        path = self.try_path()
        if path is None:
            raise self.error(f"cannot read {token.text!r} here")
        if self.at("{"):
            self.next()
            return Construct(line, normalized(path), self.arguments("}"))
        name, template = split_template(normalized(path))
        return Name(line, name, template)

    def _bracket(self) -> Expression:
        """A lambda's captures, or an Objective-C message."""
        line, start = self.line, self.position
        self.skip_brackets()
        is_lambda = self.at("(", "{") and self._captures(start)
        self.position = start
        if is_lambda:
            copies = self._copies(start)
            self.skip_brackets()
            parameters = self.parameters() if self.at("(") else ()
            self.accept("mutable")
            result = self.try_type() if self.accept("->") else None
            return Lambda(line, parameters, self.body(), result, copies)
        self.expect("[")
        receiver = self._postfix(self._primary())
        selector, arguments = self.word(), []
        if self.accept(":"):
            selector += ":"
            arguments.append(self.expression())
            while not self.at("]"):
                selector += f"{self.word()}:"
                self.expect(":")
                arguments.append(self.expression())
        self.expect("]")
        return Message(line, receiver, selector, tuple(arguments))

    def _captures(self, start: int) -> bool:
        """Whether `[...]` at `start` holds captures: nothing, =, &, this, or names by commas."""
        inside = self.tokens[start + 1 : self.position - 1]
        return all(token.text in ("&", "=", ",", "this", "*") or token.kind == "word" for token in inside) and not any(
            first.kind == second.kind == "word" for first, second in itertools.pairwise(inside)
        )

    def _copies(self, start: int) -> tuple[str, ...]:
        """The captures at `start` that are no references."""
        inside = [token.text for token in self.tokens[start : self._closing(start)]]
        copies = tuple(
            word
            for before, word in itertools.pairwise(inside)
            if before in ("[", ",") and word not in ("&", ",", "this", "*")
        )
        if "=" in copies and "&" in inside:
            raise self.error("captures by value and by reference at once")
        return copies

    def _closing(self, start: int) -> int:
        return next(at for at in range(start, len(self.tokens)) if self.tokens[at].text == "]")


@cache
def split_template(name: str) -> tuple[str, tuple[str, ...]]:
    """`f<a,b<c>>` -> ("f", ("a", "b<c>")); a name whose template does not end it stays whole."""
    if not name.endswith(">"):
        return name, ()
    opening = name.index("<")
    depth, items, current = 0, [], ""
    for character in name[opening + 1 : -1]:
        if character == "," and depth == 0:
            items.append(current)
            current = ""
            continue
        depth += {"<": 1, ">": -1}.get(character, 0)
        if depth < 0:
            return name, ()
        current += character
    return name[:opening], (*items, current)


def _number(text: str) -> Number:
    text = text.replace("'", "")
    if text.lower().startswith("0x"):
        digits = text.rstrip("uUlL")
        return Number(int(digits, 16), _integer_type(text[len(digits) :], int(digits, 16)))
    digits = text.rstrip("fFuUlL")
    suffix = text[len(digits) :].lower()
    if "." in digits or "e" in digits.lower() or "f" in suffix:
        return fitted(float(digits), "float" if "f" in suffix else "double")
    value = int(digits, 8) if digits.startswith("0") and digits != "0" else int(digits)
    return Number(value, _integer_type(suffix, value))


def _integer_type(suffix: str, value: int) -> str:
    unsigned, wide = "u" in suffix.lower(), "l" in suffix.lower() or value >= 1 << (32 if "u" in suffix.lower() else 31)
    return {(True, True): "uint64_t", (True, False): "uint32_t", (False, True): "int64_t"}.get((unsigned, wide), "int")


def _string(text: str) -> str:
    text = text.removeprefix("@")
    if text.startswith("R"):
        return text[3:-2]
    value = ast.literal_eval(text)
    assert isinstance(value, str)
    return value
