"""Other people's work, told by the files and symbols of diffs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.forge.claims import (
    FREE,
    Claim,
    ClaimState,
    LandedCommit,
    footprint,
    hit,
    landed,
    listed,
    named_in_manifest,
)
from pipeline.forge.model import ChangedFile, Issue
from pipeline.forge.radar import Radar
from pipeline.manifest import Operator
from pipeline.native_functions import NativeFunctions
from pipeline.source import NATIVE_FUNCTIONS
from tests.forge_site import HOST, ROWS, UPSTREAM, Site, open_site
from tests.github_stand_in.people import commit, land
from tests.github_stand_in.world import Actor, Pull

YAML = """\
- func: sign.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA: sign_out
    MPS: sign_out_mps
- func: ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA, MPS: ceil_out
"""
SIGN = footprint(Operator("sign", rows=("sign.out",), stub="sign_stub"), NativeFunctions(YAML))
NEW = footprint(Operator("heaviside", stub="heaviside_stub"), NativeFunctions(YAML))


def changed(path: str, *lines: str) -> list[ChangedFile]:
    return [ChangedFile(path, "@@ -1,3 +1,3 @@ static void sign_out_mps\n context sign_stub\n" + "\n".join(lines))]


def test_footprint() -> None:
    assert SIGN.own == {"sign_out_mps", "sign_functor", "sign_stub"}
    assert SIGN.shared == {"sign_out"} and SIGN.legacy == {"sign_out_mps"}
    ceil = footprint(Operator("ceil", rows=("ceil.out",), stub="ceil_stub"), NativeFunctions(YAML))
    assert ceil.legacy == frozenset()


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        (HOST, "-TORCH_IMPL_FUNC(sign_out_mps)(const Tensor& self) {", "sign_out_mps"),
        (HOST, "+REGISTER_DISPATCH(sign_stub, &sign_mps_kernel);", "sign_stub"),
        ("aten/src/ATen/native/mps/kernels/UnaryKernel.metal", "+struct sign_functor {", "sign_functor"),
        (NATIVE_FUNCTIONS, "-    MPS: sign_out_mps", "sign_out_mps"),
        (NATIVE_FUNCTIONS, "+    CPU, CUDA, MPS: sign_out", "sign_out"),
        (NATIVE_FUNCTIONS, "+    CPU, CUDA, MTIA: sign_out", ""),
        (NATIVE_FUNCTIONS, "+    CPU, CUDA, MPS: copysign_out", ""),
        (HOST, "+REGISTER_DISPATCH(copysign_stub, &f);", ""),
        (HOST, "+static void copysign_out_mps_impl() {}", ""),
        (HOST, " REGISTER_DISPATCH(sign_stub, &f);", ""),
        ("aten/src/ATen/native/cpu/UnaryOpsKernel.cpp", "+REGISTER_DISPATCH(sign_stub, &f);", ""),
        ("test/test_mps.py", "+sign_out_mps", ""),
    ],
)
def test_hits_are_changed_lines_with_the_whole_name_in_the_right_file(path: str, line: str, found: str) -> None:
    assert hit(SIGN, changed(path, line)) == (f"{path}: {found}" if found else "")


def test_a_diff_that_github_does_not_show() -> None:
    assert hit(SIGN, [ChangedFile(NATIVE_FUNCTIONS, None)]) == f"{NATIVE_FUNCTIONS}: too large for GitHub to show"
    assert hit(SIGN, [ChangedFile("aten/src/ATen/native/mps/x.mm", None)]) == ""


def at(name: str, number: int, *lines: str, path: str = HOST) -> LandedCommit:
    return LandedCommit(name, f"https://c/{name}", number, tuple(changed(path, *lines)))


GONE, BACK = "-TORCH_IMPL_FUNC(sign_out_mps)(x) {", "+TORCH_IMPL_FUNC(sign_out_mps)(x) {"


@pytest.mark.parametrize(
    ("commits", "own", "state"),
    [
        ([at("a", 1, GONE)], set(), ClaimState.LANDED),
        ([at("a", 1, GONE)], {1}, ClaimState.FREE),
        ([at("a", 1, GONE), at("b", 2, BACK)], set(), ClaimState.FREE),
        ([at("a", 1, GONE), at("b", 2, BACK), at("c", 3, GONE)], set(), ClaimState.LANDED),
        ([at("a", 1, GONE, BACK)], set(), ClaimState.FREE),  # moved within a file or reformatted
        ([at("a", 1, "-sign_stub")], set(), ClaimState.FREE),
        ([], set(), ClaimState.FREE),
    ],
)
def test_landed(commits: list[LandedCommit], own: set[int], state: ClaimState) -> None:
    assert landed(SIGN, commits, frozenset(own)).state is state


def test_a_new_operator_has_landed_when_its_names_appear() -> None:
    commits = [at("a", 1, "+REGISTER_DISPATCH(heaviside_stub, &f);")]
    assert landed(NEW, commits, frozenset()) == Claim(ClaimState.LANDED, "https://c/a", f"{HOST}: heaviside_stub", 1)


ISSUE = "https://github.com/pytorch/pytorch/issues/9"


@pytest.mark.parametrize(
    ("line", "link"),
    [
        ("- [ ] sign", ""),
        ("- [x] sign", ISSUE),
        ("- [ ] `sign` @ada", ISSUE),
        ("- [ ] sign #123", "https://github.com/pytorch/pytorch/pull/123"),
        ("* [X] sign (https://github.com/pytorch/pytorch/pull/77)", "https://github.com/pytorch/pytorch/pull/77"),
        ("- [x] copysign", ""),
        ("- [x] logical_sign, sign_ext", ""),
        ("sign is done", ""),
        ("- [ ] abs @sign", ""),
        ("- [ ] sign #5", ""),
    ],
)
def test_tracking_issues(line: str, link: str) -> None:
    """#5 is ours."""
    for issue in (Issue(9, ISSUE, f"Please help\n{line}\n"), Issue(9, ISSUE, "", (f"\n{line}",))):
        claim = listed("sign", issue, frozenset({5}))
        assert claim.link == link and (claim == FREE) == (not link)


def test_a_claim_in_the_manifest() -> None:
    operator = Operator("sign", claim="https://github.com/pytorch/pytorch/pull/77")
    assert named_in_manifest(operator, []).state is ClaimState.CLAIMED
    assert named_in_manifest(operator, [77]) == FREE


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        opened.remote(UPSTREAM).fetch("+refs/heads/main:refs/upstream/main")
        yield opened


def radar(site: Site, *issues: int) -> Radar:
    return Radar(site.forge(), site.local, UPSTREAM, site.folder / "cache" / "radar.json", issues)


def theirs(site: Site, label: str = "ciflow/mps") -> Pull:
    eve = site.world.fork(UPSTREAM, "eve")
    rows = (site.upstream.git.read("main", ROWS) or b"").replace(b"    MPS: sign_out_mps\n", b"")
    commit(site.world, eve, "faster", {ROWS: rows, "README.md": b"big\n"}, "Faster", base="main")
    body = {"head": "eve:faster", "base": "main", "title": "Speed things up", "body": ""}
    pull = site.world.open_pull(site.upstream, Actor("eve"), body)
    pull.labels.append(label)
    return pull


def test_the_files_of_an_unchanged_pull_request_are_read_once(site: Site) -> None:
    pull = theirs(site)
    base = site.upstream.branch("main") or ""
    for _ in range(2):
        seen = radar(site).look(base, base, frozenset())
        assert seen.claim_on(SIGN).number == pull.number
    reads = [path for method, path, _ in site.stand_in.calls if path.endswith("/files") or "/files?" in path]
    assert len(reads) == 1
    cached = json.loads((site.folder / "cache" / "radar.json").read_text())
    [files] = cached.values()
    assert [path for path, _ in files] == [ROWS], "only files that matter are kept"
    site.world.advance(minutes=1)
    pull.updated = site.world.now
    radar(site).look(base, base, frozenset())
    reads = [path for method, path, _ in site.stand_in.calls if "/files" in path]
    assert len(reads) == 2
    (site.folder / "cache" / "radar.json").write_text("broken")
    assert radar(site).look(base, base, frozenset()).claim_on(SIGN).number == pull.number


def test_what_landed_and_what_is_ours(site: Site) -> None:
    pull = theirs(site, label="unrelated")
    base = site.upstream.branch("main") or ""
    land(site.world, site.upstream, pull)
    site.remote(UPSTREAM).fetch("+refs/heads/main:refs/upstream/main")
    until = site.upstream.branch("main") or ""
    seen = radar(site).look(base, until, frozenset())
    claim = seen.claim_on(SIGN)
    assert (claim.state, claim.number) == (ClaimState.LANDED, pull.number)
    assert claim.link == f"https://github.com/pytorch/pytorch/commit/{until}"
    assert seen.claim_on(SIGN, ignored=[pull.number]) == FREE
    assert radar(site).look(base, until, frozenset({pull.number})).claim_on(SIGN) == FREE


def test_a_tracking_issue_is_read_with_its_comments(site: Site) -> None:
    issue = site.world.add_issue(site.upstream, "Tracking", "- [ ] abs\n", "ada")
    site.world.add_comment(site.upstream, issue, "bo", "- [ ] sign @bo")
    base = site.upstream.branch("main") or ""
    claim = radar(site, issue.number).look(base, base, frozenset()).claim_on(SIGN)
    assert claim.state is ClaimState.CLAIMED and claim.link.endswith("/issues/1")
