"""YAML read with line numbers, strictly: every key is asked for, nothing a hostile file could hide in is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

import yaml

from pipeline.errors import UsageError

_MAX_BYTES = 4 << 20
_MAX_DEPTH = 12

Choice = TypeVar("Choice", bound=Enum)
_Node = yaml.nodes.Node


class Block:
    """A YAML mapping whose keys are taken one by one; what nobody took is unknown."""

    def __init__(self, node: yaml.nodes.MappingNode | None, path: str, line: int) -> None:
        self._path = path
        self.line = line
        self._nodes: dict[str, _Node] = {}
        self._key_lines: dict[str, int] = {}
        self._taken: set[str] = set()
        for key, value in node.value if node is not None else ():
            self._add(key, value)

    def _add(self, key: _Node, value: _Node) -> None:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.nodes.ScalarNode):
            raise UsageError("a key must be a plain word", path=self._path, line=line)
        if key.value in self._nodes:
            raise UsageError(
                f"key {key.value!r} stands twice, first in line {self._key_lines[key.value]}",
                path=self._path,
                line=line,
            )
        self._nodes[key.value] = value
        self._key_lines[key.value] = line

    def error(self, message: str, *, key: str | None = None, hint: str = "") -> UsageError:
        line = self._key_lines.get(key, self.line) if key else self.line
        return UsageError(message, path=self._path, line=line, hint=hint)

    def has(self, key: str) -> bool:
        return key in self._nodes

    def is_block(self, key: str) -> bool:
        return isinstance(self._nodes[key], yaml.nodes.MappingNode)

    def text(self, key: str, *, default: str | None = None) -> str:
        node = self._take(key, required=default is None)
        if node is None:
            return default or ""
        return self._text_of(node, key)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self._text_of(node, key) for node in self._sequence(key))

    def integer(self, key: str, *, default: int) -> int:
        node = self._take(key, required=False)
        return default if node is None else self._integer_of(node, key)

    def integers(self, key: str) -> tuple[int, ...]:
        return tuple(self._integer_of(node, key) for node in self._sequence(key))

    def flag(self, key: str) -> bool:
        node = self._take(key, required=False)
        if node is None:
            return False
        if node.tag != "tag:yaml.org,2002:bool" or node.value.lower() not in ("true", "false"):
            raise self.error(f"{key} must be true or false", key=key)
        return bool(node.value.lower() == "true")

    def choice(self, key: str, choices: type[Choice], default: Choice) -> Choice:
        node = self._take(key, required=False)
        if node is None:
            return default
        value = self._text_of(node, key)
        for choice in choices:
            if choice.value == value:
                return choice
        raise self.error(
            f"{key} cannot be {value!r}", key=key, hint=f"write one of {', '.join(c.value for c in choices)}"
        )

    def block(self, key: str, *, default: Mapping[str, Any] | None = None) -> Block:
        node = self._take(key, required=default is None)
        if node is None:
            return Block(None, self._path, self.line)
        return self._block_of(node, key)

    def blocks(self, key: str) -> tuple[Block, ...]:
        return tuple(self._block_of(node, key) for node in self._sequence(key))

    def finish(self) -> None:
        """Raise UsageError for the first key that nobody asked for."""
        for key in self._nodes:
            if key not in self._taken:
                raise self.error(f"unknown key {key!r}", key=key, hint=f"known here: {', '.join(sorted(self._taken))}")

    def _take(self, key: str, *, required: bool) -> _Node | None:
        self._taken.add(key)
        node = self._nodes.get(key)
        if node is None and required:
            raise self.error(f"key {key!r} is missing")
        return node

    def _sequence(self, key: str) -> list[_Node]:
        node = self._take(key, required=False)
        if node is None:
            return []
        if not isinstance(node, yaml.nodes.SequenceNode):
            raise self.error(f"{key} must be a list", key=key)
        return list(node.value)

    def _text_of(self, node: _Node, key: str) -> str:
        if not isinstance(node, yaml.nodes.ScalarNode) or node.tag != "tag:yaml.org,2002:str":
            raise UsageError(f"{key} must be text", path=self._path, line=node.start_mark.line + 1, hint="quote it")
        return str(node.value)

    def _integer_of(self, node: _Node, key: str) -> int:
        if node.tag != "tag:yaml.org,2002:int" or not str(node.value).isdigit():
            raise UsageError(f"{key} must be a whole number", path=self._path, line=node.start_mark.line + 1)
        return int(node.value)

    def _block_of(self, node: _Node, key: str) -> Block:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.nodes.MappingNode):
            raise UsageError(f"{key} must be a mapping", path=self._path, line=line, hint="write key: value")
        return Block(node, self._path, line)


def parse_block(text: str, path: str) -> Block:
    """The top-level mapping of a YAML document. Raises UsageError with the line of a syntax error, alias or bomb."""
    return Block(compose_mapping(text, path), path, 1)


def compose_mapping(text: str, path: str) -> yaml.nodes.MappingNode:
    if len(text) > _MAX_BYTES:
        raise UsageError(f"larger than {_MAX_BYTES >> 20} MiB", path=path)
    try:
        _check_events(text, path)
        node = yaml.compose(text, yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise UsageError(f"not valid YAML: {error.problem or error.context}", path=path, line=line) from None
    except yaml.YAMLError as error:
        raise UsageError(f"not valid YAML: {' '.join(str(error).split())}", path=path) from None
    if not isinstance(node, yaml.nodes.MappingNode):
        raise UsageError("must be a mapping", path=path, line=1, hint="see docs/reference.md for the keys")
    return node


def _check_events(text: str, path: str) -> None:
    """Refuse what a manifest never needs and a hostile one uses: anchors, aliases, tags, deep nesting."""
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark is not None else None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise UsageError("anchors and aliases are not allowed", path=path, line=line, hint="write the value out")
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None):
            raise UsageError("tags are not allowed", path=path, line=line, hint="write a plain value")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise UsageError(f"nested more than {_MAX_DEPTH} deep", path=path, line=line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
