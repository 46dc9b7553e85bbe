"""From what the compiler says to findings: which rule, which line of the tree, and what the stand-ins cannot know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.checks.host.compiler import UnavailableError
from pipeline.checks.host.diagnostics import Diagnostic, Note
from pipeline.checks.host.headers import include_path
from pipeline.findings import Finding, Severity
from pipeline.source import NATIVE_FUNCTIONS

_GENERATED = re.compile(r"ATen/ops/\w+\.h\Z")
# Apple's classes of which the stand-ins declare only a part.
_PARTIAL = ("MetalPerformanceShaders/MetalPerformanceShaders.h", "MetalPerformanceShadersGraph.h")
_PARTIAL_NAME = r"MPS(?:Graph|NDArray|Matrix|Vector|Image|RNN|CNN)\w*"
_NOT_DECLARED = re.compile(
    r"(?:property '\w+' not found on object of type '|use of undeclared identifier '|unknown type name ')"
    + _PARTIAL_NAME
)
_MISSING_FILE = re.compile(r"'([^']+)' file not found")


@dataclass(frozen=True)
class Places:
    """From the compiler's paths to the tree's. `work` holds the sources and late headers of one check."""

    work: Path
    early: Path
    touched: Collection[str]

    def tree_path(self, path: str | None, checked: str) -> str | None:
        """The tree's path of the checked file, of a touched header, or of what stands for generated code; else None."""
        if path is None:
            return None
        if path == str(self.work / "source" / checked):
            return checked
        for folder in (self.work / "headers", self.early):
            name = path.removeprefix(f"{folder}/")
            if name != path:
                if _GENERATED.match(name):
                    return NATIVE_FUNCTIONS
                return next((other for other in self.touched if include_path(other) == name), None)
        return None


def compiler_findings(said: Iterable[Diagnostic], checked: str, places: Places) -> Iterator[Finding]:
    """Findings of one run over the file `checked`.

    Raises UnavailableError where a header that the change does not touch is at fault: then the tree and the installed
    torch do not go together, and nothing can be said.
    """
    for diagnostic in said:
        place = _place(diagnostic, checked, places)
        if place is not None:
            yield _finding(diagnostic, place)
        elif diagnostic.is_error and not diagnostic.text.startswith("too many errors"):
            where = Path(diagnostic.path or "").name or "the compiler"
            raise UnavailableError(f"{where}: {diagnostic.text}", hint="the tree does not fit the installed torch")


def _place(diagnostic: Diagnostic, checked: str, places: Places) -> Note | None:
    """The first place in the tree, following the notes out of a template or macro."""
    for note in (Note(diagnostic.path, diagnostic.line, diagnostic.text), *diagnostic.notes):
        path = places.tree_path(note.path, checked)
        if path is not None:
            return Note(path, note.line if path != NATIVE_FUNCTIONS else None, note.text)
    return None


def _finding(diagnostic: Diagnostic, place: Note) -> Finding:
    rule, severity, hint = _rule(diagnostic)
    text, hint = diagnostic.text, hint or _reason(diagnostic)
    if diagnostic.flag and rule == "host/warning":
        text = f"{text} [{diagnostic.flag}]"
    return Finding(rule, severity, text, place.path, place.line, hint)


def _rule(diagnostic: Diagnostic) -> tuple[str, Severity, str]:
    text, flag = diagnostic.text, diagnostic.flag
    if _is_beyond_stand_ins(diagnostic):
        return "host/unknown-to-stand-ins", Severity.WARNING, "check the spelling: only a Mac knows all of MPSGraph"
    if missing := _MISSING_FILE.search(text):
        return "host/missing-header", Severity.ERROR, f"no header is called {missing[1]}"
    if "deleted function 'mtl_setArg'" in text:
        return (
            "host/shader-argument",
            Severity.ERROR,
            "pass numbers, plain structs, tensors or buffers",
        )
    if diagnostic.is_error:
        return "host/type-error", Severity.ERROR, ""
    if flag.startswith(("-Wunused", "-Wunneeded")):
        severity = Severity.ERROR if "function" in text else Severity.WARNING
        return "host/unused", severity, "remove it with the code that used it"
    if flag == "-Wmissing-prototypes":
        return (
            "host/undeclared-definition",
            Severity.ERROR,
            "no row of native_functions.yaml names it, or its ATen/ops header is not included; else make it static",
        )
    return "host/warning", Severity.ERROR, ""


def _reason(diagnostic: Diagnostic) -> str:
    """Why the nearest candidate of an overloaded function or constructor does not fit."""
    reasons = (note.text.partition("not viable: ")[2] for note in diagnostic.notes)
    return next((reason for reason in reasons if reason.startswith("no known conversion")), "")


def _is_beyond_stand_ins(diagnostic: Diagnostic) -> bool:
    """A method, property or constant of a class that Apple knows better than the stand-ins."""
    if diagnostic.is_error:
        return bool(_NOT_DECLARED.search(diagnostic.text))
    return diagnostic.flag == "-Wobjc-method-access" and any(
        (note.path or "").endswith(_PARTIAL) for note in diagnostic.notes
    )
