"""Macros of a file, expanded as C does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.edits.lexer import tokens
from pipeline.edits.preprocessor import Macro, arguments, expand, macro_of
from pipeline.errors import Refusal


def expanded(text: str, *defines: str) -> str:
    macros = [macro_of(f"#define {define}") for define in defines]
    words = [token.text for token in tokens(expand(text, {macro.name: macro for macro in macros if macro}))]
    return " ".join(words)


@pytest.mark.parametrize(
    ("text", "defines", "result"),
    [
        ("A", ["A 1 + 2"], "1 + 2"),
        ("A(x)", ["A(a) a + a"], "x + x"),
        ("A", ["A(a) a"], "A"),
        ("A (x)", ["A(a) a"], "x"),
        ("A(f(x, y), [z, w])", ["A(a, b) b a"], "[ z , w ] f ( x , y )"),
        ("A(x)", ["A(a) a##_stub mps_##a##_kernel"], "x_stub mps_x_kernel"),
        ("A(x)", ["A(a) a ## WithTensor"], "xWithTensor"),
        ("A(x y)", ["A(a) #a"], '"x y"'),
        ('A("q")', ["A(a) #a"], '"\\"q\\""'),
        ("A(B)", ["A(a) a #a a##1", "B 2"], '2 "B" B1'),
        ("A(1, 2, 3)", ["A(a, ...) f(__VA_ARGS__, a)"], "f ( 2 , 3 , 1 )"),
        ("A()", ["A() x"], "x"),
        ("A()", ["A(a) [a]"], "[ ]"),
        ("A(1)", ["A(a) B(a)", "B(b) A(b)"], "A ( 1 )"),
        ("A /* why */ (x) // more", ["A(a) a"], "x"),
        ('"A" A', ["A 1"], '"A" 1'),
        ("A(x", ["A(a) a"], "A ( x"),
    ],
)
def test_expansion(text: str, defines: list[str], result: str) -> None:
    assert expanded(text, *defines) == result


def test_continued_lines_stay_lines() -> None:
    macro = macro_of("#define MAKE(name) \\\n  f(name)  \\\n  g(name)")
    assert macro == Macro("MAKE", ("name",), "f(name)  \n  g(name)")


def test_arguments_are_split_at_the_outer_commas() -> None:
    assert arguments('A(b, c(d, e), {f, g}, "h, i");') == ("b", "c(d, e)", "{f, g}", '"h, i"')
    assert arguments("A()") == ()
    assert arguments("A") == ()


def test_what_grows_without_end_is_refused() -> None:
    doubling = [f"A{n} A{n - 1} A{n - 1}" for n in range(1, 60)]
    with pytest.raises(Refusal, match="expand"):
        expanded("A59", "A0 x", *doubling)
    with pytest.raises(Refusal, match="nest"):
        expanded("A(" * 3000 + ")" * 3000, "A(a) a")


@given(st.text(alphabet='AB(), #\\"\n/*x', max_size=40), st.text(alphabet='AB(), #"x', max_size=30))
def test_no_text_breaks_it(text: str, body: str) -> None:
    macros = {"A": Macro("A", ("x", "B"), body), "B": Macro("B", None, body)}
    expand(text, macros)
