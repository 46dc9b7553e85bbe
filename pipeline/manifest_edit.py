"""Edits of the manifest's text that leave every comment, quote and blank line where it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from pipeline.errors import PipelineError
from pipeline.manifest import Status, parse_manifest
from pipeline.manifest_text import compose_mapping

_Pair = tuple[yaml.nodes.Node, yaml.nodes.Node]


def set_status(text: str, path: str, name: str, status: Status) -> str:
    """The manifest with one operator's status replaced; nothing but those fields moves.

    Raises UsageError when the manifest is not valid or lacks the operator.
    """
    before = parse_manifest(text, path)
    if before.operator(name).status == status:
        return text
    entry = _entry(compose_mapping(text, path), name)
    block = _value(entry, "status")
    wanted = status.as_mapping()
    if block is None:
        edited = _insert_block(text, entry, wanted)
    elif block.flow_style:
        edited = _splice(text, block.start_mark.index, block.end_mark.index, _flow(wanted))
    else:
        edited = _update_block(text, block, wanted)
    after = parse_manifest(edited, path)
    expected = tuple(
        replace(operator, status=status, line=0) if operator.name == name else replace(operator, line=0)
        for operator in before.operators
    )
    if tuple(replace(operator, line=0) for operator in after.operators) != expected:
        raise PipelineError(f"cannot write the status of {name} here", path=path, line=before.operator(name).line)
    return edited


def add_operators(text: str, path: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """The manifest with entries appended to its list of operators, in the list's own indentation."""
    if not entries:
        return text
    operators = _value(compose_mapping(text, path), "operators")
    if operators is None or not isinstance(operators, yaml.nodes.SequenceNode) or operators.flow_style:
        raise PipelineError("there is no `operators:` list in block style to add to", path=path)
    last = operators.value[-1]
    indent = " " * operators.start_mark.column
    dumped = yaml.safe_dump(list(entries), sort_keys=False, allow_unicode=True, width=110)
    block = "".join(f"{indent}{line}\n" if line else "\n" for line in dumped.splitlines())
    at = _end_of_line(text, _leaf_end(text, last))
    edited = _splice(text, at, at, "\n" + block.rstrip("\n"))
    parse_manifest(edited, path)
    return edited


def _entry(top: yaml.nodes.MappingNode, name: str) -> yaml.nodes.MappingNode:
    entries: list[yaml.nodes.MappingNode] = _value(top, "operators").value
    return next(entry for entry in entries if _value(entry, "name").value == name)


def _value(mapping: yaml.nodes.MappingNode, key: str) -> Any:
    return next((value for node, value in mapping.value if node.value == key), None)


def _insert_block(text: str, entry: yaml.nodes.MappingNode, wanted: Mapping[str, str]) -> str:
    if entry.flow_style:
        at = entry.end_mark.index - 1
        return _splice(text, at, at, f", status: {_flow(wanted)}")
    indent = " " * entry.value[0][0].start_mark.column
    lines = [f"{indent}status:", *(f"{indent}  {key}: {_scalar(value)}" for key, value in wanted.items())]
    at = _end_of_line(text, _leaf_end(text, entry))
    return _splice(text, at, at, "\n" + "\n".join(lines))


def _update_block(text: str, block: yaml.nodes.MappingNode, wanted: Mapping[str, str]) -> str:
    """Work from the last key to the first, so that positions before the edit stay true."""
    pairs: list[_Pair] = block.value
    present = {key.value for key, _ in pairs}
    indent = " " * pairs[0][0].start_mark.column
    added = [f"\n{indent}{key}: {_scalar(value)}" for key, value in wanted.items() if key not in present]
    at = _end_of_line(text, _leaf_end(text, pairs[-1][1]))
    text = _splice(text, at, at, "".join(added))
    for key, value in reversed(pairs):
        if key.value not in wanted:
            text = _remove_line(text, key, value)
        elif value.value != wanted[key.value]:
            text = _splice(text, value.start_mark.index, _leaf_end(text, value), _scalar(wanted[key.value]))
    return text


def _remove_line(text: str, key: yaml.nodes.Node, value: yaml.nodes.Node) -> str:
    """Take a key away; a comment behind its value stays, on a line of its own."""
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    value_end = _leaf_end(text, value)
    end = _end_of_line(text, value_end)
    comment = text[value_end:end].strip()
    if comment:
        return _splice(text, key.start_mark.index, end, comment)
    return _splice(text, start, min(end + 1, len(text)), "")


def _leaf_end(text: str, node: yaml.nodes.Node) -> int:
    """Where the last character of a node's content stands; a block's own end mark overshoots comments behind it."""
    while isinstance(node, yaml.nodes.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = node.end_mark.index
    return len(text[:end].rstrip()) if getattr(node, "style", None) in ("|", ">") else end


def _end_of_line(text: str, at: int) -> int:
    newline = text.find("\n", at)
    return len(text) if newline < 0 else newline


def _splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _flow(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {_scalar(value)}" for key, value in values.items()) + "}"


def _scalar(value: str) -> str:
    """Plain where YAML reads it back as the same text, in a block and in a flow mapping, else double-quoted."""
    if re.fullmatch(r"[\w./:@;%+-]( ?[\w./:@;%+()-])*", value) and not re.search(r":( |$)|\s#", value):
        try:
            if yaml.load(f"{{k: {value}}}", yaml.CSafeLoader) == {"k": value}:
                return value
        except yaml.YAMLError:
            pass
    return yaml.safe_dump(value, default_style='"', width=1 << 20, allow_unicode=True).rstrip("\n")
