"""The items of an Objective-C++ file: what stands at file, namespace and class-extension level, byte for byte."""

from __future__ import annotations

import functools
import re

from pipeline.edits.declarators import ATTRIBUTES, Block, Head
from pipeline.edits.items import Item, Items, Kind
from pipeline.edits.lexer import Tokens, directive_name
from pipeline.errors import Refusal


@functools.lru_cache(maxsize=1024)
def split(text: str, path: str = "") -> tuple[Item, ...]:
    """The items of `text` in order; joining their texts gives `text` again.

    Comments on lines of their own and blank lines are items too. Raises Refusal with path and line where brackets,
    literals or `#if` branches do not close.
    """
    return _Splitter(Tokens(text, path)).items()


_BRANCHES = {
    "if": Kind.IF,
    "ifdef": Kind.IF,
    "ifndef": Kind.IF,
    "else": Kind.ELSE,
    "elif": Kind.ELSE,
    "elifdef": Kind.ELSE,
    "elifndef": Kind.ELSE,
    "endif": Kind.ENDIF,
}
_DIRECTIVES = {"include": Kind.INCLUDE, "import": Kind.INCLUDE, "define": Kind.DEFINE}
_DEFINED = re.compile(r"#[ \t]*\w+[ \t]+(\w+)")
_BARE_MACRO = re.compile(r"[A-Z][A-Z0-9_]*_(?:BEGIN|END|PUSH|POP)")
_OBJC_SCOPES = ("@interface", "@implementation", "@protocol")
_OBJC_ACCESS = ("@optional", "@required", "@public", "@private", "@protected", "@package")


class _Splitter:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.list = Items(tokens)

    def items(self) -> tuple[Item, ...]:
        index = 0
        while index < len(self.tokens):
            index = self._next(index)
        self.list.blank(len(self.tokens.text))
        opened = self.list.innermost
        if opened is not None:
            raise Refusal(f"{opened.code.split()[0]} is never closed", path=self.tokens.path or None, line=opened.line)
        return tuple(self.list.found)

    def _next(self, first: int) -> int:
        """Adds the item that starts at token `first`; the index of the token after it."""
        if self.kinds[first] == "comment" and (last := self._comments(first)) is not None:
            return self.list.add(Kind.COMMENT, first, last)
        index = self._past_comments(first)
        kind, text = self.kinds[index], self.texts[index]
        if kind == "directive":
            return self._directive(index)
        if text in {"}", "@end"}:
            return self._close(first, index)
        if text in _OBJC_SCOPES and not self._is_forward(index):
            return self._objc_scope(first, index)
        if text in _OBJC_ACCESS:
            return self.list.add(Kind.OTHER, first, index)
        if kind == "word" and (last := self._macro_call(index)) is not None:
            return self.list.add(Kind.CALL, first, last, macro=text)
        return self._statement(first, index)

    def _comments(self, first: int) -> int | None:
        """The last of the comments that stand together on lines of their own; None where code follows on the line."""
        last = None
        index = first
        while index < len(self.tokens) and self.kinds[index] == "comment" and self._ends_line(index):
            last = index
            index += 1
            if self._gap(last).count("\n") > 1:
                break
        return last

    def _past_comments(self, index: int) -> int:
        while index < len(self.tokens) and self.kinds[index] == "comment":
            index += 1
        return index

    def _gap(self, index: int) -> str:
        """The white space after token `index`."""
        stop = self.tokens.starts[index + 1] if index + 1 < len(self.tokens) else len(self.tokens.text)
        return self.tokens.text[self.tokens.end(index) : stop]

    def _ends_line(self, index: int) -> bool:
        return index + 1 == len(self.tokens) or "\n" in self._gap(index)

    # Directives and scopes

    def _directive(self, index: int) -> int:
        name = directive_name(self.texts[index])
        branch = _BRANCHES.get(name)
        if branch is None:
            kind = _DIRECTIVES.get(name, Kind.DIRECTIVE)
            defined = _DEFINED.match(self.texts[index]) if kind is Kind.DEFINE else None
            return self.list.add(kind, index, index, (defined[1],) if defined else (), internal=True)
        if branch is not Kind.IF:
            if self.list.innermost is None or self.list.innermost.kind is Kind.OPEN:
                raise self._refusal(f"#{name} stands inside a scope that opened after its #if", index)
            self.list.leave()
        following = self.list.add(branch, index, index)
        if branch is not Kind.ENDIF:
            self.list.enter()
        return following

    def _open(self, first: int, last: int, names: tuple[str, ...], scope: tuple[str, ...]) -> int:
        following = self.list.add(Kind.OPEN, first, last, names)
        self.list.enter()
        self.list.scope.extend(scope)
        return following

    def _close(self, first: int, index: int) -> int:
        opened = self.list.innermost
        if opened is None or opened.kind is not Kind.OPEN or opened.code.endswith("{") != (self.texts[index] == "}"):
            raise self._refusal(f"{self.texts[index]} does not end the scope it stands in", index)
        self.list.leave()
        return self.list.add(Kind.CLOSE, first, index, opened.names)

    def _is_forward(self, index: int) -> bool:
        """`@protocol Name;` and `@protocol A, B;` declare, they open nothing."""
        return self.texts[index] == "@protocol" and self.texts[index + 2 : index + 3] in ([";"], [","])

    def _objc_scope(self, first: int, index: int) -> int:
        """`@interface Name<T> (Category) : Super <Protocol> { variables }`, as far as it is there."""
        name = ""
        last = index
        while last + 1 < len(self.tokens):
            kind, text = self.kinds[last + 1], self.texts[last + 1]
            if kind == "word" and (not name or self.texts[last] == ":"):
                name = name or text
                last += 1
            elif text == "<":
                last = self._angle_end(last + 1)
            elif kind == "open":
                last = self.tokens.match[last + 1]
            elif text == ":":
                last += 1
            else:
                break
        return self._open(first, last, (name,) if name else (), ())

    def _angle_end(self, index: int) -> int:
        for at in range(index, len(self.tokens)):
            if self.texts[at] == ">":
                return at
            if self.kinds[at] in ("end", "directive", "at"):
                break
        raise self._refusal("'<' is never closed", index)

    # Declarations

    def _macro_call(self, index: int) -> int | None:
        """The last token of a macro call that is an item of its own, if one starts here."""
        if _BARE_MACRO.fullmatch(self.texts[index]) and self._ends_line(index):
            return index
        if self.texts[index + 1 : index + 2] != ["("] or self.texts[index] in ATTRIBUTES:
            return None
        last = self.tokens.match[index + 1]
        following = self._past_comments(last + 1)
        if following == len(self.tokens) or self.kinds[following] in ("close", "directive", "at"):
            return last
        if self.kinds[following] == "end":
            return following
        continues = self.kinds[following] == "open" or self.texts[following] in (":", ",", "=", "->", "const")
        between = self.tokens.text[self.tokens.end(last) : self.tokens.starts[following]]
        return None if continues or "\n" not in between else last

    def _statement(self, first: int, index: int) -> int:
        """A declaration or definition, up to its semicolon or the end of its body; a scope that opens; or leftovers.

        What starts outside of an `#if` and ends within one goes on to the `#endif`.
        """
        branches = 0
        ended: tuple[int, Block] | None = None
        at = index
        while at < len(self.tokens):
            kind = self.kinds[at]
            if kind == "directive":
                branches += self._branch_step(at, branches)
            elif ended is not None:
                pass
            elif kind == "close" or self.texts[at] in ("@end", *_OBJC_SCOPES):
                return self.list.add(Kind.OTHER, first, at - 1)
            elif kind == "end":
                ended = (at, Block.VALUE)
            elif self.texts[at] == "{":
                block = Block.FUNCTION if self._is_method(index) else Head(self.tokens, index, at).block()
                if block in (Block.NAMESPACE, Block.LINKAGE) and not branches:
                    return self._namespace(first, index, at)
                ended = (at, block) if block is Block.FUNCTION else None
            at = self.tokens.match[at] if kind == "open" else at
            if ended is not None and branches == 0:
                return self._declare(first, index, at, *ended)
            at += 1
        return self.list.add(Kind.OTHER, first, len(self.tokens) - 1)

    def _branch_step(self, index: int, branches: int) -> int:
        branch = _BRANCHES.get(directive_name(self.texts[index]))
        if branch is Kind.IF:
            return 1
        if branch is not None and branches == 0:
            raise self._refusal(
                f"#{directive_name(self.texts[index])} cuts a declaration that started before it", index
            )
        return -1 if branch is Kind.ENDIF else 0

    def _is_method(self, index: int) -> bool:
        opened = self.list.innermost
        return opened is not None and opened.code.startswith(_OBJC_SCOPES) and self.texts[index] in ("-", "+")

    def _namespace(self, first: int, index: int, brace: int) -> int:
        words = [word for word in Head(self.tokens, index, brace).words if word not in ("inline", "export", "extern")]
        names = tuple(words[1:] or [""]) if words else ()
        return self._open(first, brace, names, names)

    def _declare(self, first: int, index: int, last: int, stop: int, block: Block) -> int:
        """Adds the declaration whose head ends at token `stop`, the semicolon or the opening brace of its body."""
        if block is Block.FUNCTION and self.kinds[last + 1 : last + 2] == ["end"] and not self._ends_line(last):
            last += 1
        head = Head(self.tokens, index, stop)
        if self._is_method(index) or self.texts[index] == "@property":
            return self.list.add(Kind.METHOD, first, last, head.selector())
        macro, names = head.function() if block is Block.FUNCTION else ("", ())
        if block is Block.FUNCTION:
            return self.list.add(Kind.FUNCTION, first, last, names, macro=macro, internal="static" in head.words)
        kind, names = _declared(head)
        internal = kind in (Kind.TYPE, Kind.ALIAS) or not {"static", "constexpr"}.isdisjoint(head.words)
        return self.list.add(kind if names else Kind.OTHER, first, last, names, internal=internal)

    def _refusal(self, message: str, index: int) -> Refusal:
        return self.tokens.refusal(message, self.tokens.starts[index])


def _declared(head: Head) -> tuple[Kind, tuple[str, ...]]:
    """What a declaration without a function body declares."""
    lead = next((word for word in head.words if word != "template"), "")
    if lead == "using":
        if head.words[1:2] == ["namespace"]:
            return Kind.USING, ("::".join(head.words[2:]),)
        after = head.words.index("using") + 1
        return Kind.ALIAS, tuple(head.words[after : after + 1] if head.value_at else head.words[-1:])
    if head.class_key() and head.has_body():
        return Kind.ALIAS if lead == "typedef" else Kind.TYPE, head.type_names()
    if lead == "typedef":
        return Kind.ALIAS, head.variables()
    if head.class_key() and len(head.words) == 2:
        return Kind.DECLARATION, tuple(head.words[1:])
    if head.value_at is None and head.parameters() is not None:
        return Kind.DECLARATION, head.function()[1]
    if len(head) > 0 and head.text(0) in ("@class", "@protocol"):
        return Kind.DECLARATION, tuple(head.words)
    return Kind.VARIABLE, head.variables()
