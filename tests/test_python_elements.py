"""Elements leave tuples, lists, sets, dicts and calls; their comments go with them and all else stays."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.edits.python_elements import Position, add_to_set, remove_elements
from pipeline.errors import Refusal


def position(text: str, element: str) -> Position:
    index = text.index(element)
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1)


def without(text: str, *elements: str, kin: tuple[str, ...] = ()) -> str:
    return remove_elements(text, {position(text, e) for e in elements}, {position(text, e) for e in kin})


def lines(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


CALL = lines("""
    OpInfo('x',
           dtypes=a,
           skips=(
               # about A
               A(1),  # inline A
               # about B and C
               B(1),
               C(2),

               # about D
               D(3),
           ),
           z=1)
""")


@pytest.mark.parametrize(
    ("doomed", "gone"),
    [
        (("A(1)",), ["# about A", "A(1),  # inline A"]),
        (("B(1)",), ["B(1),"]),
        (("C(2)",), ["C(2),"]),
        (("B(1)", "C(2)"), ["# about B and C", "B(1),", "C(2),"]),
        (("D(3)",), ["", "# about D", "D(3),"]),
        (("C(2)", "D(3)"), ["C(2),", "", "# about D", "D(3),"]),
    ],
)
def test_comments_go_with_the_last_element_they_speak_of(doomed: tuple[str, ...], gone: list[str]) -> None:
    kept = CALL.splitlines()
    for line in gone:
        kept.remove(next(each for each in kept if each.strip() == line))
    assert without(CALL, *doomed, kin=("A(1)", "B(1)", "C(2)", "D(3)")).splitlines() == kept


def test_an_element_that_is_no_kin_does_not_hold_a_comment() -> None:
    text = "[\n    # fails on MPS\n    mps(1),\n    cuda(2),\n]"
    assert without(text, "mps(1)", kin=("mps(1)",)) == "[\n    cuda(2),\n]"
    assert without(text, "mps(1)", kin=("mps(1)", "cuda(2)")) == "[\n    # fails on MPS\n    cuda(2),\n]"


def test_a_keyword_goes_with_its_last_element() -> None:
    everything = ("A(1)", "B(1)", "C(2)", "D(3)")
    assert without(CALL, *everything) == "OpInfo('x',\n       dtypes=a,\n       z=1)"


ONE_LINE = [
    ("f(skips=(A(1), B(1)))", ("A(1)",), "f(skips=(B(1),))"),
    ("f(skips=(A(1), B(1)))", ("B(1)",), "f(skips=(A(1),))"),
    ("f(skips=[A(1), B(1)])", ("B(1)",), "f(skips=[A(1)])"),
    ("f(a, skips=(B(1),))", ("B(1)",), "f(a)"),
    ("f(skips=[B(1)], a=2)", ("B(1)",), "f(a=2)"),
    ("f(a=1, b=2, c=3)", ("b=2",), "f(a=1, c=3)"),
    ("f(a=1, b=2, )", ("b=2",), "f(a=1, )"),
    ("f(a=1)", ("a=1",), "f()"),
    ("{'a': 1, 'b': 2}", ("'a'",), "{'b': 2}"),
    ("{'a': [x.y, x.z]}", ("x.y",), "{'a': [x.z]}"),
    ("{'a': 1}", ("'a'",), "{}"),
    ("{'a'}", ("'a'",), "set()"),
    ("['é', 'b', 'c']", ("'b'",), "['é', 'c']"),
]


@pytest.mark.parametrize(("text", "doomed", "expected"), ONE_LINE)
def test_on_one_line(text: str, doomed: tuple[str, ...], expected: str) -> None:
    assert without(text, *doomed) == expected


SEVERAL_LINES = [
    ("f(x,\n  s=[A(1),\n     # b\n     B(1)])", "A(1)", "f(x,\n  s=[\n     # b\n     B(1)])"),
    ("f(x,\n  s=[A(1),\n     # b\n     B(1)])", "B(1)", "f(x,\n  s=[A(1)])"),
    ("f(x,\n  s=[A(1),  # a\n     B(1)])", "B(1)", "f(x,\n  s=[A(1),  # a\n     ])"),
    ("[\n  A(1),\n  B(1)\n]", "B(1)", "[\n  A(1),\n]"),
    ("[\n  A(1),\n  B(1)\n]", "A(1)", "[\n  B(1)\n]"),
    ("[\n  A(1), B(1),\n  C(1),\n]", "B(1)", "[\n  A(1),\n  C(1),\n]"),
    ("[\n  A(1), B(1),\n  C(1),\n]", "A(1)", "[\n  B(1),\n  C(1),\n]"),
    ("[\n  A(1),\n  # last words\n]", "A(1)", "[\n  # last words\n]"),
    ("{\n  'a': [\n    x.y,\n    x.z,\n  ],  # both\n}", "x.y", "{\n  'a': [\n    x.z,\n  ],  # both\n}"),
    ("[\r\n  A(1),\r\n  # b\r\n  B(1),\r\n]", "B(1)", "[\r\n  A(1),\r\n]"),
]


@pytest.mark.parametrize(("text", "doomed", "expected"), SEVERAL_LINES)
def test_on_several_lines(text: str, doomed: str, expected: str) -> None:
    assert without(text, doomed) == expected


def test_a_position_without_element_is_refused() -> None:
    with pytest.raises(Refusal, match="line 1: no element starts at column 3"):
        remove_elements("[aa, b]", {(1, 2)}, set())


ADDED = [
    ("{'b', 'd'}", "a", "{'a', 'b', 'd'}"),
    ("{'b', 'd'}", "c", "{'b', 'c', 'd'}"),
    ("{'b', 'd'}", "e", "{'b', 'd', 'e'}"),
    ('{\n    "b",  # B\n    # about d\n    "d",\n}', "c", '{\n    "b",  # B\n    "c",\n    # about d\n    "d",\n}'),
    ('{\n    "b",\n    "d",  # D\n}', "e", '{\n    "b",\n    "d",  # D\n    "e",\n}'),
    ('{\n    "b",\n    "d"\n}', "a", '{\n    "a",\n    "b",\n    "d"\n}'),
    ('{\n    "b",\n    "d"\n}', "e", '{\n    "b",\n    "d",\n    "e"\n}'),
    # Two sorted runs: the first place that fits.
    ('{"b", "m", "c", "z"}', "d", '{"b", "d", "m", "c", "z"}'),
]


@pytest.mark.parametrize(("text", "name", "expected"), ADDED)
def test_add_to_set(text: str, name: str, expected: str) -> None:
    assert add_to_set(text, name) == expected


@st.composite
def displays(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A list or tuple of distinct calls in any layout, and the calls."""
    count = draw(st.integers(2, 6))
    calls = [f"f{number}('é', {number})" for number in range(count)]
    gap = st.sampled_from(
        [" ", "\n    ", "  # inline\n    ", "\n    # above\n    ", "\n\n    ", "\n    # one\n    # two\n    "]
    )
    text = draw(st.sampled_from(["", "\n    ", "\n    # first\n    "]))
    for index, call in enumerate(calls):
        last = index == count - 1
        comma = "," if not last or draw(st.booleans()) else ""
        text += call + comma + (draw(st.sampled_from(["", "\n", "  # end\n", "\n    # tail\n"])) if last else draw(gap))
    brackets = draw(st.sampled_from(["[]", "()"]))
    return f"{brackets[0]}{text}{brackets[1]}", calls


@settings(max_examples=300, deadline=None)
@given(displays(), st.data())
def test_exactly_the_doomed_elements_go(display: tuple[str, list[str]], data: st.DataObject) -> None:
    text, calls = display
    doomed = data.draw(st.lists(st.sampled_from(calls), unique=True, min_size=1, max_size=len(calls) - 1))
    after = without(text, *doomed, kin=tuple(calls))
    tree = ast.parse(after, mode="eval").body
    assert isinstance(tree, ast.List | ast.Tuple)
    assert [ast.unparse(item) for item in tree.elts] == [call for call in calls if call not in doomed]
    # Nothing is invented, but for the comma of a tuple of one: what is left are pieces of the text, in its order.
    rest = iter(text.replace(",", ""))
    assert all(character in rest for character in after.replace(",", ""))
