"""Empty containers and unused imports go only where nothing else needs them."""

from __future__ import annotations

import pytest

from pipeline.edits.python_names import drop_empty_containers, drop_unused_imports


def function(*lines: str) -> str:
    return "def f(ops):\n" + "".join(f"    {line}\n" if line else "\n" for line in lines)


TAIL = ("for op in ops:", "    if op in OTHER:", "        g(op)", "    h(op)")

STAYS = {
    "not empty": ("LIST = {'a'}", "if op in LIST:", "    g()", "h()"),
    "an else": ("LIST = {}", "if op in LIST:", "    g()", "else:", "    h()"),
    "asked the other way": ("LIST = {}", "if op not in LIST:", "    g()", "h()"),
    "either of two": ("LIST = {}", "if op in LIST or op in OTHER:", "    g()", "h()"),
    "handed on": ("LIST = {}", "if op in LIST:", "    g()", "h(LIST)"),
    "updated": ("LIST = {}", "LIST.update(OTHER)", "h()"),
    "all its block holds": ("LIST = {}", "for op in ops:", "    if op in LIST:", "        g()"),
    "alone in a list": ("LIST = {}", "for each in [LIST]:", "    g(each)"),
}


@pytest.mark.parametrize("why", STAYS)
def test_a_container_in_use_stays(why: str) -> None:
    text = function(*STAYS[why])
    assert drop_empty_containers(text, ["LIST"]) == text


GOES = {
    "plain": (("LIST = {}", *TAIL), TAIL),
    "annotated, with its comments": (("# comment", "LIST: dict[str, list | None] = {}", "", *TAIL), ("", *TAIL)),
    "blank lines on both sides": (("a = 1", "", "LIST = set()", "", *TAIL), ("a = 1", "", *TAIL)),
    "asked": (("LIST = {}", *TAIL[:-1], "    # once", "    if op in LIST:", "        g(op)", TAIL[-1]), TAIL),
    "asked among others": (("LIST = {}", "if a and op in LIST and b:", "    g(op)", *TAIL), TAIL),
    "in a list": (("LIST = {}", "for each in [ONE, LIST, TWO]:", "    g()"), ("for each in [ONE, TWO]:", "    g()")),
    "last of a list": (
        ("LIST = {}", "for each in [", "    ONE,", "    LIST,", "]:", "    g()"),
        ("for each in [", "    ONE,", "]:", "    g()"),
    ),
}


@pytest.mark.parametrize("how", GOES)
def test_an_empty_container_goes_with_what_asks_it(how: str) -> None:
    before, after = GOES[how]
    assert drop_empty_containers(function(*before), ["LIST"]) == function(*after)


def test_the_same_name_in_another_function_stays() -> None:
    other = function("LIST = {'a'}", *TAIL).replace("def f", "def other")
    assert drop_empty_containers(other + function("LIST = {}", *TAIL), ["LIST"]) == other + function(*TAIL)


IMPORTS = [
    ("from a import b, c\n", "from a import c\n"),
    ("from a import c, b\n", "from a import c\n"),
    ("from a import b\n", ""),
    ("import b\n", ""),
    ("from a import x as b, c\n", "from a import c\n"),
    ("from a import (\n    b,\n    c,\n)\n", "from a import (\n    c,\n)\n"),
    ("from a import (\n    c,\n    b,\n)\n", "from a import (\n    c,\n)\n"),
    ("from a import (\n    c, b, d,\n)\n", "from a import (\n    c, d,\n)\n"),
    ("from a import b  # noqa: F401\n", "from a import b  # noqa: F401\n"),
]


@pytest.mark.parametrize(("imports", "expected"), IMPORTS)
def test_an_import_goes_when_its_last_use_went(imports: str, expected: str) -> None:
    body = "x = c + d\n"
    assert drop_unused_imports(imports + "y = b\n" + body, imports + body, {"b"}) == expected + body


def test_what_was_unused_before_is_not_ours_to_remove() -> None:
    text = "from a import b\n"
    assert drop_unused_imports(text, text, {"b"}) == text
    assert drop_unused_imports(text + "b(b)\n", text + "b\n", {"b"}) == text + "b\n"
