"""What is wrong with a built site: links that lead nowhere, silent pictures, foreign loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from tools.site.browser_tab import FOLDER

__all__ = ["faults"]

LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED = {"canonical", "next", "prev", "index", "search"}  # links of kinds that only point


@dataclass
class Page(HTMLParser):
    """What a page has to be asked about."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag's identity, where it leads, what it loads."""
        attributes = {name: value or "" for name, value in attrs}
        self.ids |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag in LOADS and LOADS[tag] in attributes and attributes.get("rel") not in NOT_LOADED:
            self.loads.append(attributes[LOADS[tag]])
        if tag == "img" and not attributes.get("alt", "").strip():
            self.silent.append(attributes.get("src", "a picture"))


def faults(site: Path) -> list[str]:
    """One line for each fault of the site in a folder; none if all is well.

    JupyterLite's own pages, which a script fills, are left out.
    """
    pages = {}
    for path in sorted(set(site.rglob("*.html")) - set((site / FOLDER).rglob("*"))):
        pages[path.resolve()] = page = Page()
        page.feed(path.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(site.resolve())}: {fault}"
        for path, page in pages.items()
        for fault in dict.fromkeys(wrong(path, page, pages))
    ]


def wrong(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """What is wrong with one page."""
    yield from (f"{picture} has no alternative text" for picture in page.silent)
    for address in page.loads:
        if urlsplit(address).netloc:
            yield f"loads {address} from elsewhere"
        elif not address.startswith("data:") and not aim(path, address).exists():
            yield f"loads {address}, which is not there"
    for address in page.links:
        there, anchor = urldefrag(address)
        if urlsplit(address).scheme or urlsplit(address).netloc:
            continue
        file = aim(path, there) if there else path
        if not file.exists():
            yield f"links to {address}, which is not there"
        elif anchor and file in pages and unquote(anchor) not in pages[file].ids:
            yield f"links to {address}, where no place has this name"


def aim(page: Path, address: str) -> Path:
    """The file that an address of a page means."""
    file = (page.parent / unquote(urlsplit(address).path)).resolve()
    return file / "index.html" if file.is_dir() else file
