"""Counting rows on MPSGraph over a history agrees with the survey at every commit, and says what it cannot read."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pipeline.errors import UsageError
from pipeline.git import Repository
from pipeline.history import RELEASES, Counts, Point, open_history
from pipeline.pocket.contents import pocket_files
from pipeline.report.history import changes, history_as_data, history_plot, load_history, summary
from pipeline.source import NATIVE_FUNCTIONS, OPERATIONS
from pipeline.source_git import GitTree
from pipeline.survey import Backend, survey
from tests.gitrepo import commit_files, git, make_repository

NATIVE = "aten/src/ATen/native"
UNARY = f"{OPERATIONS}/UnaryOps.mm"


def entry(name: str, *rows: str) -> str:
    table = "".join(f"    {row}\n" for row in rows)
    return f"- func: {name}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n  dispatch:\n{table}\n"


def host(body: str, more: str = "") -> str:
    return f"namespace at::native {{\nnamespace mps {{\n{more}}} // namespace mps\n{body}}} // namespace at::native\n"


ROWS = entry("sign.out", "CPU, CUDA: sign_out", "MPS: sign_out_mps")
FRAC = entry("frac.out", "CPU, CUDA: frac_out", "MPS: frac_out_mps")
CEIL = entry("ceil.out", "CPU, CUDA, MPS: ceil_out")
OTHER = entry("sum", "CPU, CUDA: sum")
RUN = "static void run(const Tensor& self) {\n  runMPSGraph(stream, graph, feeds);\n}\n"
SIGN = "TORCH_IMPL_FUNC(sign_out_mps) (const Tensor& self, const Tensor& out) {\n  mps::run(self);\n}\n"
FRAC_CODE = SIGN.replace("sign", "frac")
UNARY_CPP = "namespace at::native {\nTORCH_IMPL_FUNC(ceil_out) (const Tensor& self) {\n  ceil_stub(self);\n}\n}\n"
UNARY_H = "DECLARE_DISPATCH(void (*)(TensorIteratorBase&), ceil_stub)\nDECLARE_DISPATCH(void (*)(int), up_stub)\n"
CEIL_CODE = (
    "static void ceil_kernel(TensorIteratorBase& iter) {\n  BODY\n}\nREGISTER_DISPATCH(ceil_stub, &ceil_kernel)\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history: a row collapses, another goes from graph to Metal behind its stub, a header's macro changes."""
    folder = tmp_path_factory.mktemp("history") / "repository"
    graph_ceil = CEIL_CODE.replace("BODY", "mps::run(iter.tensor(0));")
    header = f"{NATIVE}/mps/Macros.h"
    through = "#include <ATen/native/mps/Macros.h>\n" + host(
        SIGN + FRAC_CODE.replace("mps::run(self);", "GO(self);"), RUN
    )
    make_repository(folder, {"README": "", NATIVE_FUNCTIONS: ROWS + FRAC + OTHER, UNARY: host(SIGN + FRAC_CODE, RUN)})
    commit_files(folder, {"README": "more\n"}, "Touch nothing that counts")
    commit_files(folder, {UNARY: through, header: "#define GO(x) mps::run(x)\n"}, "Go through a macro")
    commit_files(folder, {header: "#define GO(x) x.sum()\n"}, "Change the macro")
    commit_files(
        folder,
        {
            NATIVE_FUNCTIONS: ROWS + FRAC + CEIL + OTHER,
            f"{NATIVE}/UnaryOps.cpp": UNARY_CPP,
            f"{NATIVE}/UnaryOps.h": UNARY_H,
            f"{OPERATIONS}/Ceil.mm": host(graph_ceil, RUN),
        },
        "Register a graph",
    )
    commit_files(folder, {f"{NATIVE}/UnaryOps.cpp": UNARY_CPP.replace("ceil_stub", "up_stub")}, "Call another stub")
    commit_files(folder, {f"{OPERATIONS}/Other.mm": host("")}, "Add a file")
    commit_files(folder, {f"{NATIVE}/UnaryOps.cpp": UNARY_CPP}, "Call the stub again")
    commit_files(folder, {f"{OPERATIONS}/Ceil.mm": host(CEIL_CODE.replace("BODY", "encode(iter);"))}, "Write ceil")
    commit_files(
        folder,
        {NATIVE_FUNCTIONS: entry("sign.out", "CPU, CUDA, MPS: sign_out") + FRAC + CEIL, UNARY: host(FRAC_CODE, RUN)},
        "Collapse sign",
    )
    git(folder, "rm", "--quiet", UNARY)
    commit_files(folder, {}, "Lose the code of frac")
    return folder


def counted(folder: Path, tags: str = "", *, every_parent: bool = False) -> list[Point]:
    return list(open_history(str(folder), folder, tags, every_parent=every_parent).points())


def surveyed(repository: Repository, commit: str) -> tuple[int, int, int, int]:
    rows = survey(GitTree(repository, commit, "commit"))
    graph = [row for row in rows if row.backend is Backend.GRAPH]
    own, shared = [row for row in rows if not row.shared], [row for row in rows if row.shared]
    return len(own), len(shared), sum(not row.shared for row in graph), sum(row.shared for row in graph)


def test_every_commit_counts_as_the_survey_does(folder: Path) -> None:
    points = counted(folder)
    assert [(point.moment.name, point.counts) for point in points] == [
        ("Begin", Counts(2, 0, 2, 0, 0)),
        ("Go through a macro", Counts(2, 0, 2, 0, 0)),
        ("Change the macro", Counts(2, 0, 1, 0, 0)),
        ("Register a graph", Counts(2, 1, 1, 1, 0)),
        ("Add a file", Counts(2, 1, 1, 0, 0)),
        ("Write ceil", Counts(2, 1, 1, 0, 0)),
        ("Collapse sign", Counts(1, 2, 1, 0, 0)),
        ("Lose the code of frac", Counts(1, 2, 0, 0, 1)),
    ]
    for point in points:
        assert point.counts is not None and not point.problem
        counts = (point.counts.own, point.counts.shared, point.counts.own_graph, point.counts.shared_graph)
        assert counts == surveyed(Repository(folder), point.moment.commit), point.moment.name


def test_the_release_the_wheel_holds_counts_as_the_survey_does(tmp_path: Path) -> None:
    files = {path: content.decode(errors="surrogateescape") for path, content in pocket_files().items()}
    repository = make_repository(tmp_path / "pytorch", {path: text for path, text in files.items() if "�" not in text})
    [point] = counted(repository.path)
    assert point.counts is not None and point.counts.graph > 50
    counts = (point.counts.own, point.counts.shared, point.counts.own_graph, point.counts.shared_graph)
    assert counts == surveyed(repository, point.moment.commit)


def test_what_cannot_be_read_is_named_and_the_rest_counted(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    make_repository(folder, {NATIVE_FUNCTIONS: ROWS, UNARY: host(SIGN, RUN)})
    commit_files(folder, {NATIVE_FUNCTIONS: OTHER + "- func: [MPS\n" + ROWS}, "Break the rows")
    commit_files(folder, {NATIVE_FUNCTIONS: ROWS + ROWS}, "Write sign twice")
    commit_files(folder, {NATIVE_FUNCTIONS: ROWS, f"{OPERATIONS}/Odd.mm": "void f( {\n"}, "Break a host file")
    git(folder, "rm", "--quiet", NATIVE_FUNCTIONS)
    commit_files(folder, {}, "Remove the rows")
    commit_files(folder, {NATIVE_FUNCTIONS: ROWS, f"{OPERATIONS}/Odd.mm": ""}, "Mend")
    problems = [point.problem for point in counted(folder)]
    assert problems[0] == problems[5] == ""
    assert problems[1].startswith(f"{NATIVE_FUNCTIONS}:7: not valid YAML")
    assert problems[2] == f"{NATIVE_FUNCTIONS}:7: sign.out has a second entry"
    assert problems[3] == f"{OPERATIONS}/Odd.mm:1: '{{' is never closed"
    assert problems[4] == f"{NATIVE_FUNCTIONS}: the commit has no such file"
    readable = [point.counts is not None for point in counted(folder)]
    assert readable == [True, False, False, True, False, True]


def test_an_object_that_is_gone_leaves_one_commit_out(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    make_repository(folder, {NATIVE_FUNCTIONS: ROWS, UNARY: host(SIGN, RUN)})
    commit_files(folder, {UNARY: host(SIGN, RUN + "// lost\n")}, "Lost")
    commit_files(folder, {UNARY: host(SIGN, RUN + "// found\n")}, "Found")
    lost = git(folder, "rev-parse", f"HEAD~1:{UNARY}")
    (folder / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    first, second, third = counted(folder)
    assert first.counts == third.counts == Counts(1, 0, 1, 0, 0)
    assert second.counts is None and second.problem == f"{UNARY}: the repository lacks the file's object {lost}"


def test_first_parents_only_unless_all_are_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    make_repository(folder, {NATIVE_FUNCTIONS: ROWS + FRAC, UNARY: host(SIGN + FRAC_CODE, RUN)})
    git(folder, "checkout", "--quiet", "-b", "side")
    commit_files(folder, {NATIVE_FUNCTIONS: ROWS}, "On the side")
    git(folder, "checkout", "--quiet", "main")
    commit_files(folder, {f"{OPERATIONS}/Other.mm": host("")}, "On main")
    git(folder, "merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    assert [point.moment.name for point in counted(folder)] == ["Begin", "On main", "Merge"]
    names = {point.moment.name: point.counts and point.counts.own for point in counted(folder, every_parent=True)}
    assert names == {"Begin": 2, "On main": 2, "On the side": 1, "Merge": 1}


def test_tags_releases_or_a_pattern(folder: Path) -> None:
    git(folder, "tag", "v2.6.0", "HEAD~4")
    git(folder, "tag", "-a", "-m", "2.7.0", "v2.7.0", "HEAD~1")
    git(folder, "tag", "v2.7.0-rc1", "HEAD~2")
    git(folder, "tag", "ciflow/mps/1", "HEAD~3")
    git(folder, "tag", "blob", f"HEAD:{NATIVE_FUNCTIONS}")
    try:
        releases = counted(folder, RELEASES)
        assert [(point.moment.name, point.counts and point.counts.own) for point in releases] == [
            ("v2.6.0", 2),
            ("v2.7.0", 1),
        ]
        assert [point.moment.name for point in counted(folder, "v2.7*")] == ["v2.7.0", "v2.7.0-rc1"]
        with pytest.raises(UsageError, match="no tag matches 'v9'; fetch the tags first"):
            counted(folder, "v9")
    finally:
        git(folder, "tag", "-d", "v2.6.0", "v2.7.0", "v2.7.0-rc1", "ciflow/mps/1", "blob")


@pytest.mark.parametrize("tags", ["", "v*"])
def test_a_partial_clone_gets_all_it_lacks_in_one_fetch(folder: Path, tmp_path: Path, tags: str) -> None:
    origin = tmp_path / "origin"
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(origin))
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(origin, "tag", "v1.0")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--no-checkout", origin.as_uri(), "clone")
    wanted = open_history(str(tmp_path / "clone"), tmp_path, tags)
    git(origin, "config", "uploadpack.allowFilter", "false")
    git(tmp_path, "-C", "clone", "remote", "set-url", "origin", "nowhere")
    assert [point.counts for point in wanted.points()] == [point.counts for point in counted(folder)][
        -1 if tags else 0 :
    ]


def test_a_shallow_clone_says_so_and_a_url_what_to_do(folder: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", folder.as_uri(), "clone")
    shallow = open_history(str(tmp_path / "clone"), tmp_path)
    assert shallow.label.endswith("(a shallow clone: older commits are not there)") and len(shallow.moments) == 1
    with pytest.raises(UsageError, match="git clone --filter=blob:none --no-checkout https://example.org/pytorch`"):
        open_history("https://example.org/pytorch@main", tmp_path)


def test_a_repository_with_longer_object_names(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    commit_files(folder, {NATIVE_FUNCTIONS: ROWS, UNARY: host(SIGN, RUN)}, "Begin")
    assert [point.counts for point in counted(folder)] == [Counts(1, 0, 1, 0, 0)]


def test_as_table_data_and_plot(folder: Path, tmp_path: Path) -> None:
    points = counted(folder)
    assert [point.moment.name for point, _ in changes(points)] == [
        *("Begin", "Change the macro", "Register a graph", "Add a file", "Collapse sign", "Lose the code of frac")
    ]
    assert summary(points) == (
        "8 commits; 2 rows on MPSGraph at first, 2 at most, 0 now; "
        "the functions of 1 rows stand in no host file of the tree"
    )
    unreadable = [*points, Point(points[0].moment, None, "gone")]
    file = tmp_path / "history.json"
    file.write_text(json.dumps(history_as_data("here", unreadable)))
    assert load_history(file) == ("here", unreadable)
    for content in ("[]", '{"source": 1}', "{"):
        file.write_text(content)
        with pytest.raises(UsageError, match="history.json: is not a history; write it with `invoke history"):
            load_history(file)
    plot = history_plot(unreadable)
    assert plot == history_plot(unreadable)
    titles = [title.text for title in ElementTree.fromstring(plot).iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "Rows of native_functions.yaml that run on MPSGraph"
    assert any(str(title).endswith("Change the macro: 1 on MPSGraph") for title in titles)
