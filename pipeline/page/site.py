"""A static site from the content: HTML from templates that escape everything, one style sheet, one script."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup

from pipeline.errors import UsageError
from pipeline.forge.marker import PRODUCT
from pipeline.manifest import State
from pipeline.next_step import short_link
from pipeline.page.content import Inputs, gather, stems
from pipeline.report.history import changes, history_plot, summary
from pipeline.report.plot import Series, line_chart

_FOLDER = Path(__file__).parent
_ASSETS = ("style.css", "page.js", "theme.js")
_Releases = Mapping[str, Mapping[str, Mapping[str, int]]]
_MARK = f'<meta name="generator" content="{PRODUCT}">'


def write_site(inputs: Inputs, out: Path) -> int:
    """Write the pages into the folder `out`, all at once, in place of an earlier site; returns how many there are.

    Raises UsageError when `out` holds anything else.
    """
    if out.exists() and not _is_ours(out):
        raise UsageError(
            "is there already and holds something else", path=str(out), hint="name a folder that is empty or new"
        )
    files = render_site(inputs)
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        for path, content in files.items():
            (fresh / path).parent.mkdir(exist_ok=True)
            (fresh / path).write_bytes(content)
        fresh.chmod(0o755)
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
            out.rename(old / out.name)
            fresh.rename(out)
            shutil.rmtree(old)
        else:
            fresh.rename(out)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return sum(path.endswith(".html") for path in files)


def render_site(inputs: Inputs) -> dict[str, bytes]:
    """Path -> content."""
    content = gather(inputs)
    environment = _environment()
    environment.globals["generator"] = Markup(_MARK)
    overview = environment.get_template("overview.html.j2")
    page = environment.get_template("operator.html.j2")
    releases = json.loads((_FOLDER / "releases.json").read_text(encoding="utf-8"))
    files = {
        "index.html": overview.render(
            content=content,
            root="",
            order={state.value: number for number, state in enumerate(State)},
            releases=releases,
            versions=_versions(releases),
            releases_plot=Markup(_releases_plot(releases)),
            history=inputs.history,
            history_changes=changes(inputs.history[1]) if inputs.history else (),
            history_summary=summary(inputs.history[1]) if inputs.history else "",
            history_plot=Markup(history_plot(inputs.history[1], style="")) if inputs.history else "",
        )
    }
    for number, shown in enumerate(content.pages):
        before = content.pages[number - 1] if number else None
        after = content.pages[number + 1] if number + 1 < len(content.pages) else None
        files[f"operator/{shown.operator.name}.html"] = page.render(
            content=content, page=shown, before=before, after=after, root="../"
        )
    assets = {name: (_FOLDER / "assets" / name).read_bytes() for name in _ASSETS}
    return {**{path: text.encode() for path, text in files.items()}, **assets, ".nojekyll": b""}


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "when": _when,
        "link": _link,
        "stems": stems,
        "ticks": _ticks,
        "slug": lambda text: text.replace(" ", "-"),
    }
    return environment


def _when(at: str, form: str = "%b %Y, %H:%M UTC") -> Markup:
    """A time element: the date for everybody, to which the script adds how long ago that is."""
    if not at:
        return Markup("")
    date = datetime.fromisoformat(at)
    date = (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    stamp, shown = date.strftime("%Y-%m-%dT%H:%M:%SZ"), f"{date.day} {date.strftime(form)}"
    return Markup('<time datetime="{}">{}</time>').format(stamp, shown)


def _link(target: str) -> Markup:
    """A link where it leads to the web, else the plain text: what stands in a manifest may be anything."""
    if not target.startswith(("https://", "http://")):
        return Markup("{}").format(target)
    return Markup('<a href="{}">{}</a>').format(target, short_link(target))


def _ticks(text: str) -> Markup:
    """`code` between backticks as code, all else as it is."""
    pieces = re.split(r"`([^`\n]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>" if index % 2 else "{}").format(piece) for index, piece in enumerate(pieces)
    )


def _versions(releases: _Releases) -> list[str]:
    """Oldest first, as the file lists them."""
    return list(dict.fromkeys(version for each in releases.values() for version in each["counts"]))


def _releases_plot(releases: _Releases) -> str:
    places = {version: float(place) for place, version in enumerate(_versions(releases))}
    series = [
        Series(name, [(places[version], count, f"torch {version}") for version, count in each["counts"].items()])
        for name, each in releases.items()
    ]
    return line_chart(
        "Dispatch rows by release of torch", series, [(place, version) for version, place in places.items()]
    )


def _is_ours(out: Path) -> bool:
    if not out.is_dir():
        return False
    if not any(out.iterdir()):
        return True
    index = out / "index.html"
    return index.is_file() and _MARK in index.read_text(encoding="utf-8", errors="replace")
