"""Removal on generated files: what goes is exactly what nothing left reaches any more."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.edits.host import remove_legacy
from pipeline.edits.hostfile import HostFiles
from pipeline.edits.objcpp import split

PATH = "aten/src/ATen/native/mps/operations/Ops.mm"
OTHER = "aten/src/ATen/native/mps/operations/Other.mm"


@dataclass(frozen=True)
class Program:
    """Helpers of several forms that call each other, and operators that call helpers; `elsewhere` names some too."""

    forms: tuple[str, ...]
    helper_calls: tuple[frozenset[int], ...]
    operator_calls: tuple[frozenset[int], ...]
    by_macro: tuple[bool, ...]
    elsewhere: frozenset[int]
    removed: frozenset[int]

    def reached(self, operators: frozenset[int], more: frozenset[int] = frozenset()) -> frozenset[int]:
        found = set(more).union(*(self.operator_calls[operator] for operator in operators))
        found |= {helper for helper in self.elsewhere if self.forms[helper] == "external"}
        while not found >= (wider := set().union(*(self.helper_calls[helper] for helper in found))):
            found |= wider
        return frozenset(found)

    def dead(self) -> frozenset[int]:
        """Needed before and not after; what nothing needed before keeps what it needs."""
        every = frozenset(range(len(self.operator_calls)))
        before = self.reached(every)
        unexplained = frozenset(range(len(self.forms))) - before
        return before - self.reached(every - self.removed, unexplained)

    def text(self) -> str:
        helpers = [self._helper(number) for number in range(len(self.forms))]
        operators = [self._operator(number) for number in range(len(self.operator_calls))]
        macro = "#define MAKE(name, body) \\\n  TORCH_IMPL_FUNC(name##_out_mps)(const Tensor& t) { body }\n"
        return "\n".join(["namespace at::native {\n", *helpers, macro, *operators, "} // namespace at::native\n"])

    def _helper(self, number: int) -> str:
        calls = " ".join(f"helper{called}();" for called in sorted(self.helper_calls[number]))
        return {
            "static": f"// Helper {number}.\nstatic void helper{number}() {{\n  {calls}\n}}\n",
            "external": f"void helper{number}() {{\n  {calls} // nothing else\n}}\n",
            "anonymous": f"namespace {{\nvoid helper{number}() {{ {calls} }}\n}} // namespace\n",
            "struct": f"struct helper{number} {{\n  void run() {{ {calls} }}\n}};\n",
            "lambda": f"static const auto helper{number} = [](int a) {{ {calls} }};\n",
            "macro": f"#define helper{number}() \\\n  {calls} (void)0\n",
            "guarded": f"#ifdef __MAC_15_0\nstatic void helper{number}() {{ {calls} }}\n#endif // __MAC_15_0\n",
        }[self.forms[number]]

    def _operator(self, number: int) -> str:
        calls = " ".join(f"helper{called}();" for called in sorted(self.operator_calls[number]))
        if self.by_macro[number]:
            return f"MAKE(op{number}, {calls})\n"
        return f"TORCH_IMPL_FUNC(op{number}_out_mps)\n(const Tensor& t) {{\n  {calls}\n}}\n"

    def other(self) -> str:
        return "void other() {\n" + "".join(f"  helper{number}();\n" for number in sorted(self.elsewhere)) + "}\n"


FORMS = ("static", "external", "anonymous", "struct", "lambda", "macro", "guarded")


@st.composite
def programs(draw: st.DrawFn) -> Program:
    helpers = draw(st.integers(0, 6))
    operators = draw(st.integers(1, 4))
    some = st.frozensets(st.integers(0, helpers - 1), max_size=3) if helpers else st.just(frozenset[int]())
    return Program(
        tuple(draw(st.lists(st.sampled_from(FORMS), min_size=helpers, max_size=helpers))),
        tuple(draw(st.lists(some, min_size=helpers, max_size=helpers))),
        tuple(draw(st.lists(some, min_size=operators, max_size=operators))),
        tuple(draw(st.lists(st.booleans(), min_size=operators, max_size=operators))),
        draw(some),
        draw(st.frozensets(st.integers(0, operators - 1), min_size=1)),
    )


@settings(max_examples=200, deadline=None)
@given(programs())
def test_exactly_the_dead_go(program: Program) -> None:
    files = {PATH: program.text(), OTHER: program.other()}
    names = [f"op{number}_out_mps" for number in sorted(program.removed)]
    edit = remove_legacy(HostFiles(files), names)
    after = edit.files[PATH] or ""
    split(after, PATH)
    gone = {item.name for item in edit.removed if item.name.startswith("helper")}
    assert gone == {f"helper{number}" for number in program.dead()}
    lines = iter(files[PATH].split("\n"))
    assert all(line in lines for line in after.split("\n")[:-1])
    assert "\n\n\n" not in after
    left = {path: text for path, text in {**files, **edit.files}.items() if text is not None}
    assert not remove_legacy(HostFiles(left), names).files
