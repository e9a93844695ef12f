"""The built site in a browser, wherever GPULEARN_SITE says that it lies."""

import functools
import http.server
import os
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import browser  # noqa: F401 - a fixture
from tools.links import documentation
from tools.site import check
from tools.site.browser_tab import FOLDER

PAGES = (
    "index.html",
    "notebooks/05_shared_memory_and_barriers.html",
    "notebooks/10_gradient_descent.html",
    "browser_tab.html",
    "exercises.html",
    "reference/gl.parallel.html",
)
LARGEST = 60e6
pytestmark = pytest.mark.skipif(
    "GPULEARN_SITE" not in os.environ, reason="GPULEARN_SITE names no site: `make site` builds one"
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *said):
        pass


@pytest.fixture(scope="module")
def site():
    return Path(os.environ["GPULEARN_SITE"]).resolve()


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def opened(browser, address):  # noqa: F811
    """Opens a page of the site, and notes what it asks of others."""
    contexts = []

    def open_page(path, width=1400, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.elsewhere = []
        page.on(
            "request",
            lambda asked: (
                page.elsewhere.append(asked.url)
                if not asked.url.startswith((address, "data:"))
                else None
            ),
        )
        page.goto(f"{address}/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()


def test_links_pictures_and_size(site):
    assert not check.faults(site)
    pages = set(site.rglob("*")) - set((site / FOLDER).rglob("*"))
    assert sum(file.stat().st_size for file in pages if file.is_file()) < LARGEST


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
@pytest.mark.parametrize("path", PAGES)
def test_everybody_can_read_it(opened, path, scheme, width):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(path, width, scheme)
    found = Axe().run(page).response["violations"]
    serious = [f for f in found if f["impact"] in ("serious", "critical")]
    assert not [(f["id"], f["nodes"][0]["html"][:200]) for f in serious]
    assert page.elsewhere == []


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_shows_its_whole_width(opened, path):
    page = opened(path, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("path", PAGES)
def test_a_shared_link_shows_something(opened, path):
    page = opened(path)
    address = page.locator("link[rel=canonical]").get_attribute("href")
    tags = {
        it.get_attribute("property"): it.get_attribute("content")
        for it in page.locator("meta[property]").all()
    }
    assert tags["og:url"] == address == f"{documentation()}/{path}"
    assert tags["og:image"] == f"{documentation()}/_static/race.png"
    assert page.title().startswith(tags["og:title"])
    described = page.locator("meta[name=description]").get_attribute("content")
    assert 50 <= len(described) <= 200
    assert described == tags["og:description"]


def test_a_figure_opens_at_its_full_size_and_code_is_copied(opened):
    page = opened("notebooks/05_shared_memory_and_barriers.html", width=390)
    figure = page.locator("button.figure").first
    figure.click()
    large = page.locator("dialog[open] img")
    assert large.evaluate("it => it.clientWidth == it.naturalWidth && it.clientWidth > 900")
    page.keyboard.press("Escape")
    assert not large.is_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = page.locator(".cell_input").first
    code.locator("button.copybtn").click()
    assert page.evaluate("navigator.clipboard.readText()") in code.inner_text()
    assert page.locator(".cell_output button.copybtn").count() == 0


def test_the_front_page_has_one_button_that_opens_a_lesson(opened):
    page = opened("index.html", width=390)
    assert page.locator("a.start").bounding_box()["y"] < 300
    page.locator("a.start").click()
    page.wait_for_url("**/notebooks/01_cpu_vs_gpu_matmul.html")


@pytest.mark.parametrize(
    ("asked", "found"),
    {
        "gl.xray": ["reference/gl.html#gl-xray"],
        "xray": ["reference/gl.html#gl-xray"],
        "simt.xray": ["reference/simt.html#simt-xray"],
        "launch": ["glossary.html#term-launch", "reference/gl.html#gl-launch"],
        "coalesced": ["glossary.html#term-coalesced", "notebooks/04_memory_coalescing.html"],
        "swizzle": [
            "glossary.html#term-XOR-swizzle",
            "notebooks/05_shared_memory_and_barriers.html",
        ],
        "all-reduce": ["glossary.html#term-all-reduce", "notebooks/15_collectives.html"],
    }.items(),
)
def test_the_search_finds_first_what_bears_the_name(opened, asked, found):
    page = opened(f"search.html?q={asked}")
    page.locator(".search-summary", has_text="finished").wait_for(timeout=60_000)
    links = page.locator("#search-results .search > li > a").all()
    assert [link.get_attribute("href") for link in links[: len(found)]] == found


def test_the_glossary_is_one_click_away_from_each_page(opened):
    page = opened("notebooks/23_plan_a_run.html")
    link = page.locator(".around").get_by_role("link", name="Glossary")
    assert link.bounding_box()["y"] < 300
    link.click()
    page.wait_for_url("**/glossary.html")


def test_what_is_too_wide_shows_that_it_goes_on(opened):
    page = opened("notebooks/05_shared_memory_and_barriers.html", width=390)
    report = page.locator(".wide:has([aria-label='kernel report'])").first
    assert report.evaluate("it => it.scrollWidth > it.clientWidth")
    assert "linear-gradient" in report.evaluate("it => getComputedStyle(it).backgroundImage")
    cost = report.locator("tr:has(pre) td:last-child:not(:empty)").first  # in sight without that
    assert cost.bounding_box()["x"] + cost.bounding_box()["width"] < 390


def test_a_notebook_opens_in_jupyterlite(opened):
    """The Python that then starts comes from elsewhere: here nothing answers for it."""
    page = opened("browser_tab.html")
    page.context.route("https://**", lambda route: route.abort())
    failed = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.get_by_role("link", name="05", exact=True).first.click()
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=120_000)
    told = page.locator(".jp-RenderedMarkdown", has_text="This copy runs in your browser tab")
    told.wait_for(timeout=120_000)
    page.locator(".jp-CodeCell", has_text="%pip install -q gpulearn").wait_for(timeout=120_000)
    assert {urlsplit(one).netloc for one in page.elsewhere} <= {"cdn.jsdelivr.net"}
    assert [one for one in failed if "pyodide" not in one.lower()] == []
