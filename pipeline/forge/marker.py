"""Hidden marks in texts on GitHub: whose pull request this is, and which part of a text is ours to rewrite."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

PRODUCT = "mps-to-metal"
BEGIN = f"<!-- {PRODUCT}:begin -->"
END = f"<!-- {PRODUCT}:end -->"

_MARKER = re.compile(rf"<!-- {PRODUCT} operator=(\w+) commit=([0-9a-f]{{40}}) stage=(\w+) -->")
_MENTION = re.compile(r"(?<![\w`/.+-])@(?=[A-Za-z0-9])")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


class Stage(Enum):
    """OPENING until labels and reviewers are on it: a run cut short is continued, a finished one is never redone."""

    OPENING = "opening"
    OPEN = "open"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Marker:
    operator: str
    commit: str
    stage: Stage

    def __str__(self) -> str:
        return f"<!-- {PRODUCT} operator={self.operator} commit={self.commit} stage={self.stage.value} -->"


def find_marker(text: str) -> Marker | None:
    found = _MARKER.search(text)
    if found is None or found[3] not in {stage.value for stage in Stage}:
        return None
    return Marker(found[1], found[2], Stage(found[3]))


def set_marker(text: str, marker: Marker) -> str:
    """The text with its marker replaced. Raises ValueError when it has none."""
    changed, count = _MARKER.subn(str(marker), text, count=1)
    if not count:
        raise ValueError("the text carries no marker")
    return changed


def fenced(ours: str) -> str:
    """`ours` between the marks that let it be found and replaced."""
    return f"{BEGIN}\n{ours.strip()}\n{END}"


def replace_ours(text: str, ours: str) -> str | None:
    """`text` with the part between our marks replaced; None when it does not hold exactly one such part."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        return None
    return text[: text.index(BEGIN)] + fenced(ours) + text[text.index(END) + len(END) :]


def without_mentions(text: str) -> str:
    """`@name` outside code would notify a person: the sign goes, the name stays."""
    parts = _CODE.split(text)
    return "".join(part if part.startswith("`") else _MENTION.sub("", part) for part in parts)
