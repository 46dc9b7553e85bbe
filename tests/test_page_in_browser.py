"""The page in a real browser: from a file and below a path of a server, by keyboard, in both themes, without script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pipeline.manifest import State
from pipeline.page import write_site
from tests.browser import chromium
from tests.page_inputs import make_inputs

COUNT = 1 + len(State)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("public") / "mps to metal"
    write_site(make_inputs(), folder)
    return folder


class Visit:
    """A page with all that it asked for and all that it complained about."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    visited = Visit(context)
    yield visited
    context.close()
    assert visited.complaints == []


@pytest.fixture
def overview(visit: Visit, site: Path) -> Page:
    visit.page.goto((site / "index.html").as_uri())
    return visit.page


def shown(page: Page) -> list[str]:
    return page.locator("#operators tbody tr:visible th").all_inner_texts()


def test_search_and_filters(overview: Page) -> None:
    assert len(shown(overview)) == COUNT
    overview.get_by_role("searchbox", name="Search").fill("SIGN macos-15")
    assert shown(overview) == ["sign"]
    expect(overview.get_by_role("status")).to_have_text(f"1 of {COUNT} operators")
    assert overview.url.endswith("#q=SIGN+macos-15")
    overview.get_by_role("button", name="Show all").click()
    assert len(shown(overview)) == COUNT
    overview.get_by_label("State").select_option("tested")
    assert shown(overview) == ["sign", "op_tested"]
    overview.get_by_label("File").select_option("UnaryKernel")
    assert shown(overview) == [name for name in ("sign", "op_tested") if name in shown(overview)]
    overview.reload()
    expect(overview.get_by_label("State")).to_have_value("tested")
    expect(overview.get_by_label("File")).to_have_value("UnaryKernel")


def test_a_count_leads_to_its_operators(overview: Page) -> None:
    overview.get_by_role("link", name="1 landed").click()
    assert shown(overview) == ["op_landed"]
    expect(overview.get_by_label("State")).to_have_value("landed")
    overview.goto(overview.url.partition("#")[0] + "#state=nonsense&sort=nothing")
    overview.reload()
    assert len(shown(overview)) == COUNT


def test_sorting_by_keyboard(overview: Page) -> None:
    before = shown(overview)
    heading = overview.get_by_role("columnheader", name="operator")
    heading.get_by_role("button").focus()
    overview.keyboard.press("Enter")
    assert shown(overview) == sorted(before)
    assert heading.get_attribute("aria-sort") == "ascending"
    overview.keyboard.press("Space")
    assert shown(overview) == sorted(before, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    overview.get_by_role("columnheader", name="state").get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    states = overview.locator("#operators tbody .state").all_inner_texts()
    assert list(dict.fromkeys(states)) == [state.value for state in State]
    overview.get_by_role("columnheader", name="since").get_by_role("button").click()
    times = overview.locator("#operators tbody time").evaluate_all("all => all.map(time => time.dateTime)")
    assert times == sorted(times) and len(times) == COUNT


def test_the_first_stop_of_the_keyboard_skips_to_the_content(overview: Page) -> None:
    overview.keyboard.press("Tab")
    skip = overview.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    assert (
        skip.evaluate("link => link.getBoundingClientRect().top >= 0 && getComputedStyle(link).outlineStyle") == "solid"
    )
    overview.keyboard.press("Enter")
    expect(overview.locator("main")).to_be_focused()


def test_the_theme_follows_the_system_until_it_is_chosen(visit: Visit, site: Path) -> None:
    page = visit.page
    page.emulate_media(color_scheme="dark")
    page.goto((site / "index.html").as_uri())
    ground = "getComputedStyle(document.body).backgroundColor"
    dark, light = page.evaluate(ground), "rgb(255, 255, 255)"
    assert dark != light
    body = page.locator("body")
    page.get_by_role("button", name="Light theme").click()
    expect(body).to_have_css("background-color", light)
    page.get_by_role("link", name="sign", exact=True).click()
    page.wait_for_url("**/sign.html")
    expect(body).to_have_css("background-color", light)
    page.get_by_role("button", name="Dark theme").click()
    expect(body).to_have_css("background-color", dark)


def test_an_operators_page(visit: Visit, site: Path) -> None:
    page = visit.page
    page.goto((site / "operator" / "sign.html").as_uri())
    heat = page.get_by_role("region", name="Kernel sign by dtype and flavour")
    expect(heat.get_by_role("cell", name="float16, dense: wrong in 5 runs")).to_be_visible()
    expect(heat.get_by_role("cell", name="bool, dense: missing")).to_be_visible()
    failure = page.get_by_role("article").first
    expect(failure.get_by_role("heading")).to_have_text("numerics/nan on float16, dense, strided")
    failure.get_by_text("Reproduction").click()
    expect(failure.locator("pre")).to_contain_text("<script>alert(1)</script>")
    chart = page.get_by_role("img", name="Time per call, released wheel and this build")
    expect(chart).to_be_visible()
    assert "float32, 1,000 elements, this build: 20.25 ± 40 µs" in chart.locator("title").all_text_contents()
    diff = page.get_by_role("region", name="Diff of tests/new.py")
    expect(diff.get_by_role("row", name='1 added def new(): return "x"')).to_be_visible()
    assert [event.partition(" UTC")[2].split()[0] for event in page.locator(".timeline li").all_inner_texts()] == [
        *("ready", "branched", "tested", "checked", "macOS,")
    ]
    page.get_by_role("link", name="op_listed →").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("op_listed listed")
    page.get_by_role("link", name="All operators").click()
    expect(page.locator("#operators")).to_be_visible()


def test_nothing_is_asked_for_elsewhere_and_a_server_may_have_it_below_a_path(visit: Visit, site: Path) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(site.parent))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/mps%20to%20metal/"
        visit.page.goto(base)
        visit.page.get_by_role("link", name="sign", exact=True).click()
        visit.page.get_by_role("link", name="All operators").click()
        expect(visit.page.locator("#operators tbody tr:visible th")).to_have_count(COUNT)
        server.shutdown()
    assert {url.partition("#")[0].removeprefix(base) for url in visit.asked if not url.startswith("data:")} == {
        *("", "index.html", "operator/sign.html"),
        *("style.css", "theme.js", "page.js"),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["index.html", "operator/sign.html"])
def test_no_barrier_that_a_machine_can_find(visit: Visit, site: Path, path: str, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    visit.page.goto((site / path).as_uri())
    visit.page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    found = Axe().run(visit.page, options={"preload": False})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("path", ["index.html", "operator/sign.html"])
def test_a_small_screen_scrolls_tables_not_the_page(visit: Visit, site: Path, path: str) -> None:
    visit.page.set_viewport_size({"width": 340, "height": 700})
    visit.page.goto((site / path).as_uri())
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 340


def test_a_small_screen_shows_states_and_the_newest_end_of_the_plot(visit: Visit, site: Path) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 800})
    visit.page.goto((site / "index.html").as_uri())
    for place in (visit.page.locator("#operators tbody .state").first, visit.page.locator(".chart .name").first):
        box = place.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_all_can_be_read_without_script(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert len(shown(page)) == COUNT
    assert page.locator("form:visible, header button:visible").count() == 0
    page.get_by_role("link", name="sign", exact=True).click()
    expect(page.get_by_role("heading", name="Failing inputs")).to_be_visible()
    context.close()
