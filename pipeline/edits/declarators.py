"""What the head of a C++ declaration says: whether it is a function, type, variable or alias, and its names."""

from __future__ import annotations

from enum import Enum

from pipeline.edits.lexer import Tokens

_CLASS_KEYS = frozenset({"struct", "class", "union", "enum"})
# Words whose brackets are no parameter list.
ATTRIBUTES = frozenset({"__attribute__", "alignas", "__declspec", "decltype", "noexcept", "throw", "requires", "asm"})
_SPECIFIERS = frozenset(
    {"template", "static", "const", "constexpr", "inline", "typedef", "friend", "extern", "export", "volatile"}
)
_NOT_A_NAME = _SPECIFIERS | {"final", "override", "mutable", "thread_local"}


class Block(Enum):
    """What a brace at declaration level opens."""

    NAMESPACE = "namespace"
    LINKAGE = "linkage"
    FUNCTION = "function"
    VALUE = "value"


class Head:
    """The tokens of one declaration at its own bracket level.

    Groups in brackets stand as their opening bracket; comments, directives, attributes and template arguments are left
    out.
    """

    def __init__(self, tokens: Tokens, first: int, stop: int) -> None:
        self.tokens = tokens
        self.kept: list[int] = []
        self.value_at: int | None = None  # position in `kept` of the `=` of an initialiser
        self._read(first, stop)
        self.words = [self.text(at) for at in range(len(self.kept)) if self.kind(at) == "word"]

    def kind(self, at: int) -> str:
        return self.tokens.kinds[self.kept[at]]

    def text(self, at: int) -> str:
        return self.tokens.texts[self.kept[at]]

    def __len__(self) -> int:
        return len(self.kept)

    def _read(self, index: int, stop: int) -> None:
        kinds, texts, match = self.tokens.kinds, self.tokens.texts, self.tokens.match
        while index < stop:
            kind, text = kinds[index], texts[index]
            if kind in ("comment", "directive"):
                index += 1
            elif kind == "word" and text in ATTRIBUTES and texts[index + 1 : index + 2] == ["("]:
                index = match[index + 1] + 1
            elif kind == "open":
                if not (text == "[" and texts[index + 1] == "["):
                    self.kept.append(index)
                index = match[index] + 1
            elif text == "<" and self._after_a_name() and (closing := self._angle(index, stop)) is not None:
                index = closing + 1
            else:
                if text == "=" and self.value_at is None and not self._after("operator"):
                    self.value_at = len(self.kept)
                self.kept.append(index)
                index += 1

    def _after(self, word: str) -> bool:
        return bool(self.kept) and self.text(-1) == word

    def _after_a_name(self) -> bool:
        return self.value_at is None and bool(self.kept) and self.kind(-1) == "word" and not self._after("operator")

    def _angle(self, index: int, stop: int) -> int | None:
        """The `>` that closes the `<` at `index`, if one does before `stop`."""
        depth = 0
        while index < stop:
            if self.tokens.kinds[index] == "open":
                index = self.tokens.match[index]
            elif self.tokens.texts[index] == "<":
                depth += 1
            elif self.tokens.texts[index] == ">":
                depth -= 1
                if depth == 0:
                    return index
            elif self.tokens.kinds[index] == "end":
                return None
            index += 1
        return None

    def has_body(self) -> bool:
        return any(self.text(at) == "{" for at in range(len(self)))

    def parameters(self) -> int | None:
        """The position of the parameter list: the last brackets before a body, return type or member initialisers."""
        found = None
        for at in range(1, len(self)):
            if found is not None and self.text(at) in (":", "->"):
                break
            if self.text(at) == "(":
                found = at
        return found

    def block(self) -> Block:
        """What a brace after this head opens."""
        words = self.words[1:] if self.words[:1] in (["inline"], ["export"]) else self.words
        if words[:1] == ["namespace"]:
            return Block.NAMESPACE
        if words == ["extern"] and len(self) == 2 and self.kind(1) == "string":
            return Block.LINKAGE
        if self.value_at is not None:
            return Block.VALUE
        if self.class_key() and self.text(-1) != "(":
            return Block.VALUE
        if self.parameters() is None or self._initialises_member():
            return Block.VALUE
        return Block.FUNCTION

    def class_key(self) -> str:
        """`struct`, `class`, `union` or `enum` where the declaration starts with one."""
        lead = next((word for word in self.words if word not in _SPECIFIERS), "")
        return lead if lead in _CLASS_KEYS else ""

    def _initialises_member(self) -> bool:
        """The brace stands in `Type::Type(...) : member` and opens an initialiser, not the body."""
        return self._find(":") > self._find("(") and self._find(":") < len(self) and self.kind(-1) == "word"

    def _find(self, text: str) -> int:
        return next((at for at in range(len(self)) if self.text(at) == text), len(self))

    def function(self) -> tuple[str, tuple[str, ...]]:
        """Macro and names of a function: MACRO and name of `MACRO(name)(parameters)` and of `MACRO(name, ...)`."""
        parameters = self.parameters()
        if parameters is None:
            return "", ()
        first = parameters
        while first > 0 and self.text(first - 1) == "(":
            first -= 1
        if "operator" in self.words:
            return "", ("operator",)
        if first == 0 or self.kind(first - 1) != "word":
            return "", ()
        if first == parameters and first > 1:
            return "", (self.text(first - 1),)
        inside = range(self.kept[first] + 1, self.tokens.match[self.kept[first]])
        words = [self.tokens.texts[index] for index in inside if self.tokens.kinds[index] == "word"]
        return self.text(first - 1), tuple(words[:1])

    def selector(self) -> tuple[str, ...]:
        """The first part of a method's selector; the name of a property."""
        return tuple(self.words[-1:] if self.text(0) == "@property" else self.words[:1])

    def type_names(self) -> tuple[str, ...]:
        """The name of a struct, class, union or enum, the enumerators of a plain enum, and what follows the body."""
        body = self._find("{")
        named = [
            self.text(at)
            for at in range(min(body, self._find(":")))
            if self.kind(at) == "word" and self.text(at) not in _NOT_A_NAME | _CLASS_KEYS
        ]
        names = named[-1:]
        if self.class_key() == "enum" and self.words.count("class") + self.words.count("struct") == 0:
            names += self._enumerators(self.kept[body])
        return (*names, *(self.text(at) for at in range(body + 1, len(self)) if self.kind(at) == "word"))

    def _enumerators(self, brace: int) -> list[str]:
        inner = Head(self.tokens, brace + 1, self.tokens.match[brace])
        return [
            inner.text(at)
            for at in range(len(inner))
            if inner.kind(at) == "word" and (at == 0 or inner.text(at - 1) == ",")
        ]

    def variables(self) -> tuple[str, ...]:
        """The declared names of a variable, typedef or alias, block and function pointers included."""
        names: list[str] = []
        candidate = ""
        in_value = False
        for at in range(len(self)):
            text = self.text(at)
            if text == ",":
                names.append(candidate)
                candidate, in_value = "", False
            elif text in ("=", "{", "["):
                in_value = True
            elif in_value:
                continue
            elif text == "(":
                candidate = self._pointer_name(self.kept[at]) or candidate
                in_value = True
            elif self.kind(at) == "word" and text not in _NOT_A_NAME:
                candidate = text
        return tuple(name for name in (*names, candidate) if name)

    def _pointer_name(self, bracket: int) -> str:
        """`Block` of `(^Block)` and `(*const Block)`."""
        inside = range(bracket + 1, self.tokens.match[bracket])
        if self.tokens.texts[bracket + 1] not in ("^", "*"):
            return ""
        words = [self.tokens.texts[index] for index in inside if self.tokens.kinds[index] == "word"]
        return words[-1] if words else ""
