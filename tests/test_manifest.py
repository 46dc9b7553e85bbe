from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.manifest import NO_FRAGMENT, Dispatch, Expectations, State, Status, Workflow, parse_manifest
from pipeline.manifest_edit import add_operators, set_status
from pipeline.manifest_file import load_manifest, save_new_operators, save_status

HEAD = """\
# Who and where.
upstream: {repository: pytorch/pytorch, base: main}
author:
  name: A Bot
  email: bot@example.org
operators:
"""

MANIFEST = (
    HEAD
    + """\
  # The first one — naïve.
  - name: sign   # of a number
    kind: 'unary'
    into: UnaryKernel
    notes: |
      NaN stays NaN.

      Zero stays zero.

  # The second.
  - name: "threshold"
    depends_on: [sign]
    status:
      # seen twice
      state: held   # for now
      reason: "the row: shared"  # ask again
      commit: '0123456'
  - {name: frac, kind: unary}
  - name: logit
    status: {state: listed}
"""
)
NAMES = ["sign", "threshold", "frac", "logit"]


def entry(text: str) -> str:
    return HEAD + text


def test_reads_every_field() -> None:
    manifest = parse_manifest(
        HEAD.replace("operators:", "fork: me/pytorch\nlimits: {per_file: 3}\nlabels: [mps]\noperators:")
        + """\
  - name: frac
    workflow: migrate
    dispatch: keep
    rows: [frac.out]
    legacy: [frac_out_mps]
    stub: frac_stub
    into: {kernel: a/b.metal, host: c.mm}
    opinfo: [frac]
    expectations: proven
    suppress:
      - {rule: style/order, reason: kept as upstream has it}
  - name: special_airy_ai
    workflow: new
""",
        "m.yaml",
    )
    assert manifest.fork == "me/pytorch" and manifest.limits.per_file == 3 and manifest.limits.new_per_day == 2
    frac = manifest.operator("frac")
    assert (frac.dispatch, frac.expectations, frac.rows) == (Dispatch.KEEP, Expectations.PROVEN, ("frac.out",))
    assert frac.into is not None and frac.into.host == "c.mm"
    assert frac.suppress[0].rule == "style/order"
    airy = manifest.operator("special_airy_ai")
    assert (airy.workflow, airy.dispatch, airy.branch) == (Workflow.NEW, Dispatch.ADD, "migrate/special_airy_ai")


def test_new_files_are_said_to_be_new() -> None:
    manifest = parse_manifest(entry("  - {name: a, into: UnaryKernel}\n  - {name: b, new_file: Flip}\n"), "m.yaml")
    old, new = (operator.into for operator in manifest.operators)
    assert old is not None and old.kernel.endswith("kernels/UnaryKernel.metal") and not old.may_be_new
    assert new is not None and new.host.endswith("operations/Flip.mm") and new.may_be_new


BROKEN = {
    "both targets": (entry("  - name: a\n    into: A\n    new_file: B\n"), 9, "exclude each other"),
    "no stem": (entry("  - name: a\n    new_file: kernels/B.metal\n"), 8, "is not a file's stem"),
    "unknown key": (entry("  - name: a\n    kinds: x\n"), 8, "unknown key 'kinds'"),
    "wrong type": (entry("  - name: a\n    opinfo: frac\n"), 8, "opinfo must be a list"),
    "number for text": (entry("  - name: a\n    kind: 3\n"), 8, "kind must be text"),
    "text for number": (HEAD.replace("operators", "limits: {per_file: many}\noperators"), 6, "whole number"),
    "duplicate operator": (entry("  - name: a\n  - name: a\n"), 8, "listed twice, first in line 7"),
    "duplicate key": (entry("  - name: a\n    kind: x\n    kind: y\n"), 9, "stands twice, first in line 8"),
    "not an identifier": (entry("  - name: ../a\n"), 7, "not an identifier"),
    "path leaves": (entry("  - name: a\n    kernel: ../../etc/passwd\n"), 8, "leaves the repository"),
    "absolute path": (entry("  - name: a\n    into: {kernel: /etc/passwd, host: b}\n"), 8, "leaves the repository"),
    "bad state": (entry("  - name: a\n    status: {state: done}\n"), 8, "write one of listed, ready"),
    "missing name": (entry("  - kind: unary\n"), 7, "key 'name' is missing"),
    "missing upstream": ("author: {name: a, email: b@c}\noperators: []\n", 1, "key 'upstream' is missing"),
    "syntax": (entry("  - name: [a\n"), 8, "not valid YAML"),
    "tab": (entry("\t- name: a\n"), 7, "not valid YAML"),
    "anchor": (entry("  - name: &x a\n  - name: *x\n"), 7, "anchors and aliases"),
    "bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", 1, "anchors and aliases"),
    "tag": (entry("  - name: !!python/name:os.system a\n"), 7, "tags are not allowed"),
    "nesting": (entry("  - name: " + "[" * 30 + "\n"), 7, "nested more than"),
    "not a mapping": ("- a\n- b\n", 1, "must be a mapping"),
    "unknown dependency": (entry("  - name: a\n    depends_on: [b]\n"), 7, "not in the manifest"),
    "circle": (entry("  - {name: a, depends_on: [b]}\n  - {name: b, depends_on: [a]}\n"), 7, "a -> b -> a"),
    "suppression without reason": (
        entry("  - name: a\n    suppress: [{rule: x/y, reason: ' '}]\n"),
        8,
        "needs a reason",
    ),
    "bad repository": (HEAD.replace("pytorch/pytorch", "pytorch"), 2, "write owner/name"),
    "bad author": (HEAD.replace("A Bot", "A <Bot>"), 4, "cannot stand in a commit"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_said_in_one_line_with_its_place(case: str) -> None:
    text, line, message = BROKEN[case]
    with pytest.raises(UsageError) as caught:
        parse_manifest(text, "m.yaml")
    said = str(caught.value)
    assert said.startswith(f"m.yaml:{line}: ") and message in said and "\n" not in said


def test_status_is_written_and_nothing_else_moves() -> None:
    status = Status(State.SUPERSEDED, link="https://github.com/pytorch/pytorch/pull/1#x", reason='said "no": twice')
    edited = set_status(MANIFEST, "m.yaml", "threshold", status)
    assert parse_manifest(edited, "m.yaml").operator("threshold").status == status
    assert (
        """\
    status:
      # seen twice
      state: superseded   # for now
      reason: "said \\"no\\": twice"  # ask again
      link: "https://github.com/pytorch/pytorch/pull/1#x"
  - {name: frac"""
        in edited
    )
    assert edited.split("status:")[0] == MANIFEST.split("status:")[0]


def test_a_removed_fields_comment_survives() -> None:
    edited = set_status(MANIFEST, "m.yaml", "threshold", Status(State.READY))
    assert "      state: ready   # for now\n      # ask again\n  - {name: frac" in edited


@given(
    name=st.sampled_from(NAMES),
    state=st.sampled_from(State),
    reason=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30),
    commit=st.sampled_from(["", "0123456", "12e5678", "null", "true", "~", "a: b", "#x", "- y"]),
)
def test_any_status_reads_back_and_every_comment_survives(name: str, state: State, reason: str, commit: str) -> None:
    status = Status(state, commit=commit, reason=reason)
    edited = set_status(MANIFEST, "m.yaml", name, status)
    assert parse_manifest(edited, "m.yaml").operator(name).status == status
    assert set_status(edited, "m.yaml", name, status) == edited
    for comment in ("# Who and where.", "# The first one — naïve.", "# of a number", "# seen twice", "# for now"):
        assert comment in edited
    for other in NAMES:
        if other != name:
            before, after = (parse_manifest(text, "m.yaml").operator(other).status for text in (MANIFEST, edited))
            assert before == after


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings_and_a_missing_last_newline_are_kept(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "ops.yaml"
    path.write_bytes(MANIFEST.rstrip("\n").replace("\n", ending).encode())
    save_status(path, "frac", Status(State.HELD, reason="waits"))
    text = path.read_bytes().decode()
    assert text == MANIFEST.rstrip("\n").replace("\n", ending).replace(
        "kind: unary}", "kind: unary, status: {state: held, reason: waits}}"
    )


def test_new_operators_are_appended_in_the_lists_indentation() -> None:
    edited = add_operators(MANIFEST, "m.yaml", [{"name": "sgn", "kind": "unary", "rows": ["sgn.out"]}])
    assert edited == MANIFEST + "  - name: sgn\n    kind: unary\n    rows:\n    - sgn.out\n"
    assert parse_manifest(edited, "m.yaml").operator("sgn").rows == ("sgn.out",)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "ops_manifest.yaml"
    path.write_text(text)
    return path


def test_fragments_are_found_by_convention(tmp_path: Path) -> None:
    for folder, name in (("kernels", "sign.metal"), ("stubs", "sign.mm")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()
    operator = load_manifest(write(tmp_path, entry("  - name: sign\n    status: {state: ready}\n"))).operator("sign")
    assert (operator.kernel, operator.host) == ("kernels/sign.metal", "stubs/sign.mm")


def test_an_operator_can_do_without_a_fragment_when_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "sub.mm").touch()
    text = entry("  - name: sub\n    kernel: none\n    status: {state: ready}\n")
    operator = load_manifest(write(tmp_path, text)).operator("sub")
    assert (operator.kernel, operator.host) == (NO_FRAGMENT, "stubs/sub.mm")


@pytest.mark.parametrize("key", ["kernel: kernels/none.metal", "status: {state: ready}"])
def test_a_missing_kernel_is_an_error(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError, match=r"ops_manifest.yaml:7: .*(does not exist|has no kernels/sign.metal)"):
        load_manifest(write(tmp_path, entry(f"  - name: sign\n    {key}\n")))


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.metal"
    outside.touch()
    root = tmp_path / "root"
    (root / "kernels").mkdir(parents=True)
    (root / "kernels" / "sign.metal").symlink_to(outside)
    with pytest.raises(UsageError, match="does not exist"):
        load_manifest(write(root, entry("  - name: sign\n    kernel: kernels/sign.metal\n")))


def test_no_manifest_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_manifest(tmp_path / "none.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"name: \xe9\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_manifest(path)


def test_saving_is_atomic_and_keeps_the_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, MANIFEST)
    path.chmod(0o640)

    def fail(_: int) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            save_status(path, "sign", Status(State.HELD))
    assert path.read_text() == MANIFEST
    save_status(path, "sign", Status(State.HELD))
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith(".lock")) == [path.name]


def _hold(path: Path, name: str) -> None:
    for number in range(5):
        save_status(path, name, Status(State.HELD, reason=f"round {number}"))


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, MANIFEST)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_hold, [(path, name) for name in NAMES])
    statuses = {operator.name: operator.status.reason for operator in load_manifest(path).operators}
    assert statuses == dict.fromkeys(NAMES, "round 4")


def test_new_operators_are_saved(tmp_path: Path) -> None:
    path = write(tmp_path, MANIFEST)
    save_new_operators(path, [{"name": "sgn"}])
    assert load_manifest(path).has("sgn")
