"""Every command that the documentation shows works, and what it shows of the output is what comes out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from invoke.collection import Collection
from invoke.parser import Parser
from invoke.program import Program

import tasks
from pipeline import manifest_keys
from pipeline.errors import UsageError
from pipeline.manifest import parse_manifest
from tests import docs

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LANGUAGES = {"console", "python", "yaml", "text", "metal", "objc", "diff"}
_DOWNLOADS = "it downloads torch and a compiler"
NOT_RUN = {
    "docs/tutorial.md": {
        "git clone https://github.com/OWNER/mps-to-metal": _DOWNLOADS,
        "cd mps-to-metal": _DOWNLOADS,
        "make setup": _DOWNLOADS,
        "source .venv/bin/activate": _DOWNLOADS,
    }
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, checks_cache: Path) -> tuple[Path, dict[str, str]]:
    return docs.copy_of_the_project(tmp_path_factory.mktemp("docs"), checks_cache)


@pytest.mark.parametrize("name", [name for name, page in zip(NAMES, PAGES, strict=True) if docs.wanted(page)])
def test_commands_print_what_is_shown(name: str, project: tuple[Path, dict[str, str]]) -> None:
    """After a change of what a command prints: python -m tests.docs PAGE."""
    folder, environment = project
    docs.begin_again(folder)
    for command, ran in docs.run(docs.wanted(ROOT / name), folder, environment):
        where, shown = f"{name}:{command.line}: {command.text}", docs.printed(ran)
        assert ran.code == command.code, f"{where}: exit code {ran.code}\n{ran.err}"
        assert docs.fits(command.expected, shown), (
            f"{where} prints\n"
            + "\n".join(shown)
            + f"\n`python -m tests.docs {name}` writes it into the page, except where `...` stands"
        )


def test_what_is_not_run_is_known_with_its_reason() -> None:
    assert {name: docs.not_run(page) for name, page in zip(NAMES, PAGES, strict=True) if docs.not_run(page)} == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_blocks_say_what_they_are(page: Path) -> None:
    for fence in docs.fences(page.read_text()):
        where = f"{page.name}:{fence.line}"
        assert fence.language in LANGUAGES, f"{where}: write one of {', '.join(sorted(LANGUAGES))} behind the fence"
        if fence.language == "console":
            assert docs.commands(fence), where
        assert fence.language == "console" or not re.search(r"^\s*(?:\$ |make |invoke )", fence.content, re.M), where


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_programs_run(page: Path) -> None:
    for fence in docs.fences(page.read_text()):
        if fence.language == "python":
            command = [sys.executable, "-c", fence.content]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{page.name}:{fence.line}: {done.stderr}"


@pytest.mark.parametrize(
    ("expected", "actual", "fit"),
    [
        (["branch   migrate/sign (created)"], ["branch   migrate/sign (updated)"], False),
        (["commit   " + "a" * 40, "8 runs"], ["commit   " + "b" * 40, "13.5 runs"], True),
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a", "...", "d"], ["a", "b", "c"], False),
        (["a"], ["a", "b"], False),
        (["key ..., good", "b"], ["key SHA:x, good", "b"], True),
        (["key ..., good"], ["key", "x, good"], False),
        (["│ rows │ parsed 9, as │", "│      │ planned      │"], ["│ rows │ parsed 2584, as planned │"], True),
        (["│ rows │ passed │"], ["│ rows │ failed │"], False),
        ([], ["anything"], True),
    ],
)
def test_output_fits_but_for_numbers_commits_and_widths(expected: list[str], actual: list[str], fit: bool) -> None:
    assert docs.fits(expected, actual) is fit


def test_new_output_replaces_the_old() -> None:
    text = "```console\n$ one\nold\n$ two\n...\nold\n$ three \\\n  --four\nold\n$ five\n```\n"
    commands = docs.commands(docs.fences(text)[0])
    assert commands[2].text == "three \\\n  --four"
    ran = [(command, docs.Ran(0, "new\nnew\n", "")) for command in commands]
    assert docs.with_output(text, ran) == (
        "```console\n$ one\nnew\nnew\n$ two\n...\nold\n$ three \\\n  --four\nnew\nnew\n$ five\n```\n"
    )


def test_the_architecture_names_every_module_once() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    cells = re.findall(r"^\| (`[^|]*) \|", page, re.M)
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    there = [
        f"{path.name}/" if path.is_dir() else path.name
        for path in (ROOT / "pipeline").iterdir()
        if (path.is_dir() and (path / "__init__.py").is_file()) or (path.suffix == ".py" and path.name != "__init__.py")
    ]
    assert sorted(named) == sorted(there)


def test_every_module_says_what_it_does() -> None:
    for path in (ROOT / "pipeline").rglob("*.py"):
        assert path.read_text().startswith('"""') or not path.read_text(), path


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_in_prose_exist(page: Path) -> None:
    collection = Collection.from_module(tasks)
    program = Program(namespace=collection)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    for line, code in docs.inline_code(page.read_text()):
        words = shlex.split(code) if re.match(r"(?:\.venv/bin/)?(?:invoke|make) ", code) else []
        if words[:1] == ["make"]:
            assert words[1] in targets, f"{page.name}:{line}: {code}"
        elif len(words) == 2 and not words[1].startswith("-"):
            assert words[1] in collection.task_names, f"{page.name}:{line}: {code}"
        elif words and not words[1].startswith("-"):
            numbers = ["1" if word == "N" else word for word in words[1:]]
            parsed = Parser(contexts=collection.to_contexts(), initial=program.initial_context).parse_argv(numbers)
            assert [context.name for context in parsed][1:] == [words[1]], f"{page.name}:{line}: {code}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)\s#]*)(#[^)\s]*)?\)", page.read_text()):
        if "://" in target:
            continue
        linked = (page.parent / target).resolve() if target else page
        assert linked.exists() and linked.is_relative_to(ROOT), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.M)
            assert anchor[1:] in [slug(heading) for heading in headings], f"{page.name}: {target}{anchor}"


def slug(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_reference_is_that_of_the_code() -> None:
    """When this fails, run `make docs`."""
    text = (
        "import pathlib, tasks.reference as reference; "
        "print(reference.reference_text() == pathlib.Path('docs/reference.md').read_text())"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


HEAD = "upstream: {repository: a/b, base: m}\nauthor: {name: b, email: e@x}\n"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("odd: 1\n", manifest_keys.TOP),
        ("limits: {odd: 1}\n", manifest_keys.LIMITS),
        ("operators: [{name: a, odd: 1}]\n", manifest_keys.OPERATOR),
        ("operators: [{name: a, status: {odd: 1}}]\n", manifest_keys.STATUS),
    ],
    ids=["top", "limits", "operator", "status"],
)
def test_the_reference_names_the_keys_that_the_parser_knows(text: str, keys: tuple[manifest_keys.Key, ...]) -> None:
    """Some keys are asked for only where they stand: those are tried as well."""
    with pytest.raises(UsageError, match="unknown key 'odd'") as refused:
        parse_manifest(text + HEAD, "ops_manifest.yaml")
    known = set(refused.value.hint.removeprefix("known here: ").split(", "))
    where_they_stand = {key.name for key in keys} - known
    assert known <= {key.name for key in keys} and where_they_stand <= {"fork", "runner", "new_file"}
    for name in where_they_stand:
        value = "UnaryKernel" if name == "new_file" else "a/b"
        fits = f"{name}: {value}\n" if keys is manifest_keys.TOP else f"operators: [{{name: a, {name}: {value}}}]\n"
        parse_manifest(fits + HEAD, "ops_manifest.yaml")
