"""What the page is made of: evidence as heat maps, coloured diffs, timelines, and HTML that lets no text get out."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torchgen

from pipeline import page
from pipeline.errors import UsageError
from pipeline.manifest import Operator, State, Status
from pipeline.native_functions import NativeFunctions
from pipeline.page.diff import file_diffs
from pipeline.page.heat import Cell, heat_maps
from pipeline.page.timeline import Event, manifest_versions, timeline
from pipeline.report.plot import Pair, pair_chart
from tests.gitrepo import commit_files, make_repository
from tests.page_inputs import DIFF, HOSTILE, NUMERICS, make_inputs, make_mac_record, make_record

ROOT = Path(__file__).parents[1]
CASES = ROOT.parent / "shared" / "cases"


class Tags(HTMLParser):
    """Counts tags, gathers addresses, and sees that every tag that is opened is closed."""

    VOID = ("meta", "link", "img", "input", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] += 1
        known = dict(attrs)
        self.addresses += [value for key, value in attrs if key in ("href", "src") and value]
        if known.get("id"):
            self.ids.append(str(known["id"]))
        assert not [key for key in known if key.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def site() -> dict[str, bytes]:
    return page.render_site(make_inputs(history=True))


def test_a_heat_map_tells_passed_wrong_missing_idle_and_absent() -> None:
    (found,) = heat_maps(NUMERICS)
    assert (found.kernel, found.flavours) == ("sign", ("dense", "strided", "dense_castout"))
    states = {dtype: [(cell.state, cell.runs) for cell in cells] for dtype, cells in found.rows}
    absent = (Cell.ABSENT, 0)
    assert states == {
        "float32": [(Cell.PASSED, 5), (Cell.PASSED, 19), absent],
        "float16": [(Cell.WRONG, 5), (Cell.IDLE, 0), absent],
        "int32": [absent, absent, (Cell.PASSED, 7)],
        "bool": [(Cell.MISSING, 0), absent, absent],
    }
    assert found.rows[0][1][1].words("float32", "strided") == "float32, strided: passed in 19 runs"
    assert heat_maps({}) == ()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("sgn_dense_castout_ilp_half2", ("sgn", "dense_castout_ilp", "complex32")),
        (
            "pow_tensor_tensor_dense_broadcast_rhs_cast_char_char",
            ("pow_tensor_tensor", "dense_broadcast_rhs_cast", "int8"),
        ),
        ("asinh_strided_float_uchar", ("asinh", "strided", "uint8")),
        ("logit_dense_float_char_float", ("logit", "dense", "int8")),
        ("logical_not_dense_castout_float", ("logical_not", "dense_castout", "float32")),
        ("softplus_dense_bfloat_bfloat_SoftplusParams", ("softplus", "dense", "bfloat16")),
        ("elu_dense_cast_half_ELUParams_half", ("elu", "dense_cast", "float16")),
        ("mish_dense_ilp4_float_float", ("mish", "dense_ilp4", "float32")),
        ("flip_long", ("flip", "one", "int64")),
        ("dot_reduce_float_float", ("dot_reduce", "one", "float32")),
        ("copy_bytes", ("copy_bytes", "one", "any")),
    ],
)
def test_places_of_host_names(name: str, place: tuple[str, str, str]) -> None:
    (found,) = heat_maps({"launched": {name: 1}})
    assert (found.kernel, *found.flavours, found.rows[0][0]) == place


def test_a_diff_keeps_every_line_and_its_number() -> None:
    metal, new = file_diffs(DIFF)
    assert (metal.path.rpartition("/")[2], metal.added, metal.removed, metal.is_new) == (
        "UnaryKernel.metal",
        4,
        2,
        False,
    )
    assert (new.path, new.added, new.removed, new.is_new) == ("tests/new.py", 1, 0, True)
    lines = [line for _, lines in metal.hunks for line in lines]
    assert [(line.sign, line.old, line.new) for line in lines] == [
        *((" ", 8, 8), (" ", 9, 9), ("+", None, 10), ("+", None, 11), ("-", 10, None), ("+", None, 12), (" ", 11, 13)),
        *(("-", 30, None), ("+", None, 32), (" ", 31, 33)),
    ]
    texts = [re.sub(r"<[^>]*>", "", line.html) for line in lines]
    assert texts[2:5] == ["/* sign: &lt;b&gt;two&lt;/b&gt;", "   lines */", "REGISTER_UNARY_OP(neg, int, int);"]
    assert lines[3].html == '<span class="co">   lines */</span>'
    assert '<span class="kw">def</span>' in new.hunks[0][1][0].html
    assert metal.hunks[1][0] == "@@ -30,2 +32,2 @@ template <typename T>"


def test_a_timeline_from_the_manifests_history_and_the_runs(tmp_path: Path) -> None:
    text = "operators:\n  - {name: sign, status: {state: STATE, at: 2026-11-28T00:00:00Z}}\n"
    repository = make_repository(tmp_path / "bot", {"ops_manifest.yaml": "operators:\n  - {name: sign}\n"})
    commit_files(repository.path, {"ops_manifest.yaml": "not: [a manifest\n"}, "Break it")
    commit_files(repository.path, {"ops_manifest.yaml": text.replace("STATE", "branched")}, "Record")
    commit_files(repository.path, {"other": ""}, "Something else")
    operator = Operator("sign", status=Status(State.TESTED, at="2026-11-29T06:00:00Z", reason="by a Mac"))
    events = timeline(operator, manifest_versions(repository.path), make_record(), make_mac_record())
    assert events == (
        Event("2023-11-14T22:13:20Z", "listed"),
        Event("2026-11-28T00:00:00Z", "branched"),
        Event("2026-11-29T06:00:00Z", "tested", "by a Mac"),
        Event("2026-11-29T08:00:00Z", "checked on a CPU: numerics failed", make_record().error),
        Event("2026-11-29T09:00:00Z", "macOS, full level: passed", "12 tests passed", make_mac_record().link),
    )
    assert manifest_versions(tmp_path) == []


def test_pages_are_whole_and_lead_nowhere_else(site: dict[str, bytes]) -> None:
    pages = {path: content.decode() for path, content in site.items() if path.endswith(".html")}
    assert len(pages) == 2 + len(State)
    for path, text in pages.items():
        tags = Tags(text)
        assert tags.counts["h1"] == tags.counts["main"] == 1 and len(tags.ids) == len(set(tags.ids)), path
        for address in tags.addresses:
            target, _, anchor = address.partition("#")
            if address.startswith(("https://github.com/", "data:")):
                continue
            where = f"{'operator/' if '/' in path else ''}{target}".replace("operator/../", "") if target else path
            assert where in site, (path, address)
            assert not anchor or "=" in anchor or anchor in tags.ids, (path, address)


def test_no_text_gets_out(site: dict[str, bytes]) -> None:
    """Notes, findings, values, subjects of commits and links hold markup; none of it is one."""
    shown = site["operator/sign.html"].decode(), site["index.html"].decode()
    for text in shown:
        tags = Tags(text)
        assert tags.counts["script"] == 2 and tags.counts["img"] == 0
        assert not any(address.startswith("javascript:") for address in tags.addresses)
    assert shown[0].count("&lt;script&gt;alert(1)&lt;/script&gt;") == 4 and HOSTILE not in shown[0]
    assert "&lt;script&gt;alert(1)" in shown[1]


def test_what_did_not_run_is_said(site: dict[str, bytes]) -> None:
    text = site["operator/op_ready.html"].decode()
    for sentence in (
        "Not run here: no record of <code>invoke migrate --op op_ready</code> is kept.",
        "Not run: there are no results by dtype and flavour.",
        "Not run: no Mac has built or run this, and nothing was measured. A pass on a CPU is not a test on MPS.",
        "Not planned here.",
    ):
        assert sentence in text
    assert "tested on MPS" not in text.replace("never tested on MPS", "")


def test_the_same_data_gives_the_same_bytes(site: dict[str, bytes]) -> None:
    assert page.render_site(make_inputs(history=True)) == site
    assert b"29 Nov 2026, 09:00 UTC" in site["index.html"]


def test_a_site_is_replaced_as_a_whole_and_nothing_else_is(tmp_path: Path) -> None:
    out = tmp_path / "public" / "site"
    count = page.write_site(make_inputs(), out)
    assert count == 2 + len(State) and (out / "style.css").is_file() and (out / "operator" / "sign.html").is_file()
    (out / "operator" / "old.html").write_text("")
    page.write_site(make_inputs(), out)
    assert not (out / "operator" / "old.html").exists() and [path.name for path in out.parent.iterdir()] == ["site"]
    (tmp_path / "empty").mkdir()
    page.write_site(make_inputs(), tmp_path / "empty")
    for other in (ROOT, ROOT / "README.md"):
        with pytest.raises(UsageError, match="is there already and holds something else; name a folder that is empty"):
            page.write_site(make_inputs(), other)


def releases() -> dict[str, dict[str, int]]:
    data = json.loads((ROOT / "pipeline" / "page" / "releases.json").read_text())
    return {name: each["counts"] for name, each in data.items()}


def own_rows(text: str) -> int:
    rows = (entry.row("MPS") for entry in NativeFunctions(text).entries.values())
    return sum(row is not None and {"CPU", "CUDA"}.isdisjoint(row.keys) for row in rows)


def test_the_newest_release_is_counted_right() -> None:
    installed = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    assert releases()["rows of its own"]["2.13"] == own_rows(installed.read_text())
    census = (ROOT / "tests" / "data" / "graph_rows_2.13.0.txt").read_text().splitlines()
    assert releases()["on MPSGraph"]["2.13"] == len([line for line in census if not line.startswith("#")]) - 6


@pytest.mark.parametrize("version", ["2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12"])
def test_older_releases_are_counted_right(version: str) -> None:
    path = CASES / f"native_functions-{version}.0.yaml.gz"
    if not path.is_file():
        pytest.skip("the releases' files are not beside the repository")
    assert releases()["rows of its own"][version] == own_rows(gzip.decompress(path.read_bytes()).decode())


def test_what_stands_between_backticks_is_code_and_nothing_gets_out_of_it() -> None:
    shown = render_site_text("operator/sign.html")
    assert "NaN gives <code>0</code>. &lt;script&gt;" in shown and "<code>contract</code> looks at" in shown


def render_site_text(path: str) -> str:
    return page.render_site(make_inputs())[path].decode()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ((40.0, 2.0), (16.0, 1.0), "2.5 times faster"),
        ((40.0, 2.0), (50.0, 1.0), "1.2 times slower"),
        ((40.0, 6.0), (50.0, 5.0), "no difference"),
        ((40.0, 0.0), (0.0, 0.0), "no difference"),
    ],
)
def test_a_pair_is_judged_only_where_the_spreads_do_not_touch(
    old: tuple[float, float], new: tuple[float, float], said: str
) -> None:
    chart = pair_chart("Times", [Pair("float32", *old, *new)], ("old", "new"), "µs")
    assert f">{said}<" in chart and f"float32, new: {new[0]:g} ± {new[1]:g} µs" in chart
