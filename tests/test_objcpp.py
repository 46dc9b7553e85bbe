"""Splitting Objective-C++ into items: every shape of host files, byte for byte, or a refusal with path and line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.edits.items import Item, Kind
from pipeline.edits.objcpp import split
from pipeline.errors import Refusal

FILE = """\
//  Copyright © 2024 The authors.
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/UnaryOps.h>
#import <Foundation/Foundation.h> // for NSString

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#else
#include <ATen/ops/abs_native.h>
#endif

@class Later, Sooner;

@interface MPSGraph (Fixups)
- (Tensor*)halfOf:(Tensor*)tensor name:(NSString*)name;
@property(readwrite, nonatomic) NSUInteger width;
@end

@implementation MPSGraph (Fixups)
- (Tensor*)halfOf:(Tensor*)tensor name:(NSString*)name {
  return [self half:tensor name:@"}"];
}
@end

namespace at::native {
namespace {

// A block type.
typedef Tensor* (^Operation)(Graph*, Tensor*);
using Check = std::function<bool(const Tensor&)>;
using namespace mps;

struct Cached : public Graph {
  Cached(Graph* graph) : Graph(graph) {}
  Tensor *input = nil, *output = nil; // brace in comment }
};

enum Mode { SLOW, FAST = 2 };
enum class Kind : uint8_t { ONE, TWO };

static const char* METAL = R"M(
kernel void f() { if (x) { }
)M";
static auto& lib = Library::bundled();
static const std::map<std::string, int> sizes = {{"a", 1}, {"b", 2}};
std::once_flag once{};

} // namespace

#define MAKE(name, kind)                    \\
  TORCH_IMPL_FUNC(name)(const Tensor& t) {  \\
    run(#kind, ^(Graph* g) { /* ) */ });    \\
  }

MAKE(abs_out_mps, absolute)
MAKE(neg_out_mps, negative); // with a semicolon

TORCH_IMPL_FUNC(sqrt_out_mps)
(const Tensor& self, const Tensor& out) {
#ifdef __MAC_15_0
  if (newer()) {
    return;
  }
#endif
  auto f = [&](int a) -> bool { return a > 1'000; };
  @autoreleasepool {
    NSDictionary* feeds = @{@"a" : @[ @1, @(2) ]};
  }
}

template <typename T, int N = (3 > 2)>
static inline std::tuple<Tensor, T> pair(const Tensor& t = {}) noexcept {
  return {t, T{}};
}

static Tensor& forward(const Tensor& self);

Cached::Cached(int a) : Graph{a}, input(nil) {
}

bool operator==(const Cached& a, const Cached& b) {
  return true;
}

extern "C" {
void plain(void);
}

REGISTER_DISPATCH(abs_stub, &abs_kernel)
} // namespace at::native
"""


def test_items_join_to_the_file() -> None:
    assert "".join(item.text for item in split(FILE)) == FILE


def test_every_declaration_is_an_item() -> None:
    declared = [(item.kind, item.names) for item in split(FILE) if item.kind not in LAYOUT]
    assert declared == [
        (Kind.DEFINE, ("TORCH_ASSERT_ONLY_METHOD_OPERATORS",)),
        (Kind.DECLARATION, ("Later", "Sooner")),
        (Kind.OPEN, ("MPSGraph",)),
        (Kind.METHOD, ("halfOf",)),
        (Kind.METHOD, ("width",)),
        (Kind.CLOSE, ("MPSGraph",)),
        (Kind.OPEN, ("MPSGraph",)),
        (Kind.METHOD, ("halfOf",)),
        (Kind.CLOSE, ("MPSGraph",)),
        (Kind.OPEN, ("at", "native")),
        (Kind.OPEN, ("",)),
        (Kind.ALIAS, ("Operation",)),
        (Kind.ALIAS, ("Check",)),
        (Kind.USING, ("mps",)),
        (Kind.TYPE, ("Cached",)),
        (Kind.TYPE, ("Mode", "SLOW", "FAST")),
        (Kind.TYPE, ("Kind",)),
        (Kind.VARIABLE, ("METAL",)),
        (Kind.VARIABLE, ("lib",)),
        (Kind.VARIABLE, ("sizes",)),
        (Kind.VARIABLE, ("once",)),
        (Kind.CLOSE, ("",)),
        (Kind.DEFINE, ("MAKE",)),
        (Kind.CALL, ()),
        (Kind.CALL, ()),
        (Kind.FUNCTION, ("sqrt_out_mps",)),
        (Kind.FUNCTION, ("pair",)),
        (Kind.DECLARATION, ("forward",)),
        (Kind.FUNCTION, ("Cached",)),
        (Kind.FUNCTION, ("operator",)),
        (Kind.OPEN, ()),
        (Kind.DECLARATION, ("plain",)),
        (Kind.CLOSE, ()),
        (Kind.CALL, ()),
        (Kind.CLOSE, ("at", "native")),
    ]


LAYOUT = (Kind.BLANK, Kind.COMMENT, Kind.INCLUDE, Kind.IF, Kind.ELSE, Kind.ENDIF)


def only(text: str, kind: Kind) -> Item:
    return next(item for item in split(text) if item.kind is kind)


def test_scope_parents_macro_and_linkage() -> None:
    items = split(FILE)
    cached = next(item for item in items if item.names == ("Cached",))
    assert cached.scope == ("at", "native", "")
    assert [items[parent].names for parent in cached.parents] == [("at", "native"), ("",)]
    assert cached.internal
    assert only(FILE, Kind.FUNCTION).macro == "TORCH_IMPL_FUNC"
    assert [item.macro for item in items if item.kind is Kind.CALL] == ["MAKE", "MAKE", "REGISTER_DISPATCH"]
    assert next(item for item in items if item.names == ("pair",)).internal
    assert not next(item for item in items if item.names == ("operator",)).internal


def test_lines_and_trailing_comments() -> None:
    items = split(FILE)
    for item in items:
        assert FILE.split("\n")[item.line - 1].strip().startswith(item.code.split("\n")[0].strip())
    include = next(item for item in items if "#import" in item.text)
    assert include.text == "#import <Foundation/Foundation.h> // for NSString\n"
    assert include.code == "#import <Foundation/Foundation.h>"


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("static struct Pair make(int a) {\n}\n", Kind.FUNCTION, ("make",)),
        ("struct alignas(16) Pair { int a; };\n", Kind.TYPE, ("Pair",)),
        ("struct C10_API Pair final : Base<(1 > 0)> { int a; };\n", Kind.TYPE, ("Pair",)),
        ("struct Pair;\n", Kind.DECLARATION, ("Pair",)),
        ("struct { int a; } left, right;\n", Kind.TYPE, ("left", "right")),
        ("typedef struct { int a; } Pair;\n", Kind.ALIAS, ("Pair",)),
        ("typedef void (*Callback)(int, int);\n", Kind.ALIAS, ("Callback",)),
        ("template <typename T> using Row = std::vector<T>;\n", Kind.ALIAS, ("Row",)),
        ("using at::native::abs;\n", Kind.ALIAS, ("abs",)),
        ("using namespace at::mps;\n", Kind.USING, ("at::mps",)),
        ("static Tensor* (^block)(int) = ^(int a) { return f(a); };\n", Kind.VARIABLE, ("block",)),
        ("constexpr int a = 1, b[] = {1, 2}, c{3};\n", Kind.VARIABLE, ("a", "b", "c")),
        ("static const std::array<int, 3> sizes = {1, 2, 3};\n", Kind.VARIABLE, ("sizes",)),
        ("auto f = [](int a) { return a; };\n", Kind.VARIABLE, ("f",)),
        ("[[maybe_unused]] static int f() { return 1; }\n", Kind.FUNCTION, ("f",)),
        ("__attribute__((noinline)) void f() { }\n", Kind.FUNCTION, ("f",)),
        ("template <> void f<int>(int a) { }\n", Kind.FUNCTION, ("f",)),
        ("auto f(int a) -> std::vector<int> { }\n", Kind.FUNCTION, ("f",)),
        ("Tensor Graph::run(int a) const noexcept(true) { }\n", Kind.FUNCTION, ("run",)),
        ("Graph::Graph(int a) : a{a}, b(1), c{} { }\n", Kind.FUNCTION, ("Graph",)),
        ("void f() { };\n", Kind.FUNCTION, ("f",)),
        ("C10_DIAGNOSTIC_PUSH\nvoid f() { }\n", Kind.FUNCTION, ("f",)),
        ("NS_ASSUME_NONNULL_BEGIN\nvoid f();\n", Kind.DECLARATION, ("f",)),
        ("TORCH_LIBRARY_IMPL(aten, MPS, m) {\n  m.impl(f);\n}\n", Kind.FUNCTION, ("aten",)),
        ("void f()\n#if A\n{ a; }\n#else\n{ b; }\n#endif\n", Kind.FUNCTION, ("f",)),
        ("void f(\n#if A\nint a\n#else\nint b\n#endif\n) { }\n", Kind.FUNCTION, ("f",)),
        ("/* before */ void f() { }\n", Kind.FUNCTION, ("f",)),
    ],
)
def test_shapes_of_declarations(text: str, kind: Kind, names: tuple[str, ...]) -> None:
    items = split(text)
    assert "".join(item.text for item in items) == text
    assert [(item.kind, item.names) for item in items if item.kind is not Kind.CALL] == [(kind, names)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A(x)\nB(y)\n", 2),
        ("A(x); // why\nB(y)\n", 2),
        ("A(x) // why\nB(y)\n", 2),
        ("A(x,\n  y)\n\n\nB(y)", 2),
        ("A(x)\n#define C\nB(y)\n", 2),
        ("@interface G (C)\nA(x)\n@end\n", 1),
    ],
)
def test_macro_calls_end_with_their_line(text: str, count: int) -> None:
    assert sum(item.kind is Kind.CALL for item in split(text)) == count


def test_comments_stay_together_until_a_blank_line() -> None:
    comments = [item.text for item in split("// a\n// b\n\n/* c\n   d */\nint x; // e\n") if item.kind is Kind.COMMENT]
    assert comments == ["// a\n// b\n", "/* c\n   d */\n"]


def test_items_that_share_a_line_say_so() -> None:
    shared = [item.whole_lines for item in split("namespace a { namespace b {\n}}\nint x;\n")]
    assert shared == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("int a;\nvoid f() {\n", 2, "'{' is never closed"),
        ("void f() {\n}\n}\n", 3, "unbalanced '}'"),
        ("void f() {\n  g(];\n}\n", 2, "unbalanced ']'"),
        ("int a;\n/* open", 2, "unterminated /*"),
        ('int a;\nauto b = "open;\n', 2, 'unterminated "'),
        ('int a;\nauto b = R"x( )y";\n', 2, 'unterminated R"'),
        ("#if A\nint a;\n", 1, "#if without #endif"),
        ("int a;\n#endif\n", 2, "#endif without #if"),
        ("void f() {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\n", 4, "do not balance"),
        ("void f() {\n#if A\n}\n#endif\n", 3, "do not balance"),
        ("#if A\nstatic int\n#else\nstatic long\n#endif\nf() { }\n", 3, "cuts a declaration"),
        ("@interface A\n#if B\n@end\n#endif\n", 3, "does not end the scope"),
        ("@interface A\n- (void)f;\n", 1, "@interface is never closed"),
        ("@end\n", 1, "does not end the scope"),
        ("#if B\n@interface A\n#endif\n@end\n", 3, "stands inside a scope that opened after its #if"),
        ("namespace a {\n#if B\n}\n#endif\n", 3, "do not balance"),
        ("int a; /* c */ #define B\n", 1, "must stand first"),
    ],
)
def test_what_does_not_close_is_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        split(text, "a/File.mm")
    assert (refused.value.path, refused.value.line) == ("a/File.mm", line)
    assert message in refused.value.message


PIECES = ["{", "}", "(", ")", "[", "]", ";", '"', "'", "/*", "*/", "//", "\n", "\\\n", "#if X\n", "#else\n", "#endif\n"]
PIECES += ["#define A(x) \\\n  x##y\n", "@end", "@interface A (B)\n", 'R"x(', ')x"', "@", "=", "<", "template <", "::"]
PIECES += [
    "namespace a {",
    "struct ",
    "static ",
    "operator",
    "TORCH_IMPL_FUNC(f)(int a) { }\n",
    "\t",
    "\r\n",
    "\x00",
    "é",
]


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """FILE with a few stretches deleted, doubled or replaced by pieces that matter to the splitter."""
    text = FILE
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + draw(st.sampled_from([0, 1, 5, 200])))))
        text = text[:start] + draw(st.sampled_from(["", text[start:stop] * 2, *PIECES])) + text[stop:]
    return text


@settings(max_examples=400, deadline=None)
@given(st.one_of(mutations(), st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=60)))
def test_any_text_is_split_without_loss_or_refused(text: str) -> None:
    try:
        items = split(text, "a/File.mm")
    except Refusal as refused:
        assert refused.path == "a/File.mm" and refused.line is not None
        assert 1 <= refused.line <= text.count("\n") + 1
        return
    assert "".join(item.text for item in items) == text
    assert all(item.text for item in items)
    assert all(parent < index for index, item in enumerate(items) for parent in item.parents)
    again = split("".join(item.text for item in items), "a/File.mm")
    assert again == items


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000))
def test_deep_nesting_is_no_recursion(depth: int) -> None:
    assert len(split("namespace a {\n" * depth + "}\n" * depth)) == 2 * depth
