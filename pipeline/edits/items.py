"""An item of an Objective-C++ file, and the list that gives every byte of a file to one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from pipeline.edits.lexer import Tokens, identifiers


class Kind(Enum):
    """What an item is. OPEN and CLOSE bracket a namespace, `extern "C"`, @interface, @implementation or @protocol."""

    BLANK = "blank lines"
    COMMENT = "comment"
    INCLUDE = "include"
    DEFINE = "macro"
    DIRECTIVE = "directive"
    IF = "#if"
    ELSE = "#else"
    ENDIF = "#endif"
    OPEN = "scope"
    CLOSE = "end of scope"
    FUNCTION = "function"
    DECLARATION = "declaration"
    TYPE = "type"
    ALIAS = "alias"
    USING = "using"
    VARIABLE = "variable"
    CALL = "macro call"
    METHOD = "method"
    OTHER = "other"


@dataclass(frozen=True)
class Item:
    """A stretch of a file: whole lines where it shares none, with its indentation and a comment at the line's end.

    `code` is the text without those. `names` is what the item declares; of an OPEN its namespaces or class. `scope`
    lists the namespaces around it ("" for an unnamed one), `parents` the indexes of the OPEN, IF and ELSE items around
    it. `macro` is the macro that a CALL calls, or that makes the head of a FUNCTION, as TORCH_IMPL_FUNC does.
    `internal`: no other file can name it. `whole_lines`: nothing else stands on its lines.
    """

    kind: Kind
    text: str
    start: int
    line: int
    code: str
    names: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    macro: str = ""
    internal: bool = False
    whole_lines: bool = True

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every identifier of the code, none of comments and literals."""
        return identifiers(self.code)


_LINE_END = re.compile(r"[ \t\r\f\v]*(?:\n|\Z)")


class Items:
    """Items added in order; what stands between them goes to them or becomes blank lines.

    `parents` and `scope` are those that the next item will have.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.found: list[Item] = []
        self.parents: list[int] = []
        self.scope: list[str] = []
        self.position = 0
        self.line = 1

    def add(
        self,
        kind: Kind,
        first: int,
        last: int,
        names: tuple[str, ...] = (),
        *,
        macro: str = "",
        internal: bool = False,
    ) -> int:
        """Adds the item of tokens `first` to `last` and the rest of its line; the index of the token after it."""
        text = self.tokens.text
        start = self.tokens.starts[first]
        self.blank(text.rfind("\n", self.position, start) + 1 or self.position)
        starts_line = self.position == 0 or text[self.position - 1] == "\n"
        end, following = self._rest_of_line(last)
        item = Item(
            kind,
            text[self.position : end],
            self.position,
            self.line + text.count("\n", self.position, start),
            text[start : self.tokens.end(last)],
            names,
            tuple(self.scope),
            tuple(self.parents),
            macro,
            internal or "" in self.scope,
            starts_line and (text[end - 1 : end] == "\n" or end == len(text)),
        )
        self._append(item)
        return following

    def blank(self, stop: int) -> None:
        """Adds the white space up to offset `stop`."""
        if stop > self.position:
            text = self.tokens.text[self.position : stop]
            self._append(
                Item(Kind.BLANK, text, self.position, self.line, "", (), tuple(self.scope), tuple(self.parents))
            )

    def enter(self) -> None:
        """What follows stands inside the item added last."""
        self.parents.append(len(self.found) - 1)

    @property
    def innermost(self) -> Item | None:
        return self.found[self.parents[-1]] if self.parents else None

    def leave(self) -> None:
        """What follows stands outside of the innermost item and its namespaces."""
        opened = self.found[self.parents.pop()]
        del self.scope[len(opened.scope) :]

    def _rest_of_line(self, last: int) -> tuple[int, int]:
        """The end of the line of token `last` if only comments follow there, else of the token; the token after."""
        text, end = self.tokens.text, self.tokens.end(last)
        following = last + 1
        while following < len(self.tokens) and self.tokens.kinds[following] == "comment":
            if "\n" in text[end : self.tokens.starts[following]]:
                break
            end = self.tokens.end(following)
            following += 1
        rest = _LINE_END.match(text, end)
        return (rest.end(), following) if rest else (self.tokens.end(last), last + 1)

    def _append(self, item: Item) -> None:
        self.found.append(item)
        self.position += len(item.text)
        self.line += item.text.count("\n")
