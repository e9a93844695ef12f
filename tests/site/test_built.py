"""The built site in a browser, wherever GPULEARN_SITE says that it lies."""

import functools
import http.server
import os
import threading
from pathlib import Path

import pytest

from tools.site import check

from ..browser.conftest import CHROMIUM, FLAGS, browser  # noqa: F401 - a fixture

PAGES = (
    "index.html",
    "notebooks/05_shared_memory_and_barriers.html",
    "notebooks/10_gradient_descent.html",
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
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) < LARGEST


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_everybody_can_read_it(opened, path, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(path, scheme=scheme)
    found = Axe().run(page).response["violations"]
    serious = [f for f in found if f["impact"] in ("serious", "critical")]
    assert not [(f["id"], f["nodes"][0]["html"][:200]) for f in serious]
    assert page.elsewhere == []


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_shows_its_whole_width(opened, path):
    page = opened(path, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_lesson_is_found_by_a_word_of_it(opened):
    page = opened("search.html?q=swizzle")
    first = page.locator("#search-results li a").first
    first.wait_for(timeout=60_000)
    assert "05_shared_memory_and_barriers" in first.get_attribute("href")


def test_one_lesson_leads_to_the_next(opened):
    page = opened("notebooks/04_memory_coalescing.html")
    page.locator("a.next-page").click()
    page.wait_for_url("**/05_shared_memory_and_barriers.html")
