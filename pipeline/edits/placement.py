"""Where in a host file new functions and registrations go: among their kin, in the file's own order and style."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.edits.hostfile import HostFile, Registration
from pipeline.edits.items import Item, Kind
from pipeline.edits.preprocessor import arguments
from pipeline.errors import Refusal

NATIVE = ("at", "native")


@dataclass
class Insertions:
    """Texts to put before items of a file, by index; what is added first stands first."""

    items: Sequence[Item]
    texts: dict[int, list[str]] = field(default_factory=dict)

    def add(self, index: int, text: str) -> None:
        self.texts.setdefault(index, []).append(text)

    def applied(self) -> str:
        parts: list[str] = []
        for index in range(len(self.items) + 1):
            parts += self.texts.get(index, [])
            parts += [item.text for item in self.items[index : index + 1]]
        return "".join(parts)


@dataclass(frozen=True)
class _Kin:
    """An item that a new one goes beside: its index, and the name that new ones are sorted by."""

    index: int
    name: str


class Placement:
    """The places in one host file. Raises Refusal when it opens no namespace at::native."""

    def __init__(self, file: HostFile, insertions: Insertions) -> None:
        self.items = file.items
        self.insertions = insertions
        self.end = self._end_of_native(file.path)
        self._registrations = [
            (index, entry.registrations[0])
            for index, entry in enumerate(file.entries)
            if entry.registrations and entry.parts == (entry.item,) and self._always_compiled(entry.item)
        ]
        self._functions = [_Kin(index, name) for index, name in self._registered_functions()]

    def add_function(self, text: str, name: str) -> None:
        """Beside the functions that REGISTER_DISPATCH lines name, else at the end of at::native."""
        if self._interleaved():
            self.insertions.add(self._registrations[-1][0] + 1, f"\n{text}")
        elif self._functions:
            index, above = self._position(self._functions, name)
            self.insertions.add(index, f"{text}\n" if above else f"\n{text}")
        else:
            self.insertions.add(self.end, f"\n{text}")

    def add_macro_line(self, macro: str, argument: str) -> None:
        """One more line in the group of lines that call `macro`, or below its definition."""
        kin = [
            _Kin(index, arguments(item.code)[0])
            for index, item in enumerate(self.items)
            if item.kind is Kind.CALL and item.macro == macro and self._always_compiled(item)
        ]
        if kin:
            end = ";" if self.items[kin[-1].index].code.endswith(";") else ""
            self.insertions.add(self._position(kin, argument)[0], f"{macro}({argument}){end}\n")
        else:
            defined = max(index for index, item in enumerate(self.items) if macro in item.names)
            self.insertions.add(defined + 1, f"\n{macro}({argument});\n")

    def add_registrations(self, registrations: Sequence[Registration]) -> None:
        """One line each in the last group of such lines, written as they are, or a new group below the functions."""
        group = self._last_group()
        for registration in registrations if group else ():
            beside = self.items[group[-1].index]
            mark = "&" if "&" in beside.code else ""
            end = ";" if beside.code.endswith(";") else ""
            line = f"{beside.macro}({registration.stub}, {mark}{registration.function}){end}\n"
            self.insertions.add(self._position(group, registration.stub)[0], line)
        if registrations and not group:
            lines = [f"REGISTER_DISPATCH({known.stub}, &{known.function})\n" for known in registrations]
            self.insertions.add(self.end, "\n" + "".join(lines))

    def _end_of_native(self, path: str) -> int:
        """The index of what stands last before at::native closes for the last time."""
        for index in range(len(self.items) - 1, 0, -1):
            item = self.items[index]
            if item.kind is Kind.CLOSE and (*item.scope, *item.names) == NATIVE:
                return index - 1 if self.items[index - 1].kind is Kind.BLANK else index
        raise Refusal("has no namespace at::native to put a stub into", path=path)

    def _always_compiled(self, item: Item) -> bool:
        return all(self.items[parent].kind is Kind.OPEN for parent in item.parents)

    def _registered_functions(self) -> list[tuple[int, str]]:
        names = {registration.function for _, registration in self._registrations}
        return [
            (index, item.names[0])
            for index, item in enumerate(self.items)
            if item.kind is Kind.FUNCTION
            and not names.isdisjoint(item.names)
            and tuple(name for name in item.scope if name) == NATIVE
            and self._always_compiled(item)
        ]

    def _interleaved(self) -> bool:
        """Every function is followed by its registration."""
        return bool(self._functions) and self._registrations[0][0] < self._functions[-1].index

    def _last_group(self) -> list[_Kin]:
        """The last registrations that stand line by line."""
        group: list[_Kin] = []
        for index, registration in reversed(self._registrations):
            if group and group[0].index != index + 1:
                break
            group.insert(0, _Kin(index, registration.stub))
        return group

    def _position(self, kin: Sequence[_Kin], name: str) -> tuple[int, bool]:
        """The index to insert before, and whether that is above a kin: by name where all are sorted, else last."""
        names = [known.name for known in kin]
        if len(kin) > 2 and all(first <= second for first, second in itertools.pairwise(names)):
            for known in kin:
                if known.name > name:
                    commented = self.items[known.index - 1].kind is Kind.COMMENT
                    is_function = self.items[known.index].kind is Kind.FUNCTION
                    return known.index - (commented and is_function), True
        return kin[-1].index + 1, False
