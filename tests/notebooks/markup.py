"""What a reader meets in Markdown and HTML: headings, links, and pictures with their words."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote

FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?:(?!`).)+\1")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)[^)]*\)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")


def prose(markdown: str) -> str:
    """Markdown without its code, in which nothing is a link or a heading."""
    return CODE.sub("", FENCED.sub("", markdown))


def headings(markdown: str) -> list[tuple[int, str]]:
    """The headings: level and text."""
    return [(len(marks), text) for marks, text in HEADING.findall(FENCED.sub("", markdown))]


def anchor(heading: str) -> str:
    """What JupyterLab calls a heading in a link: its text as shown, with `-` for a space."""
    shown = LINK.sub(lambda found: found[0][1 : found[0].index("]")], heading)
    return re.sub(r"[`*]", "", shown).replace(" ", "-")


def links(markdown: str) -> list[str]:
    """The targets of all links and images."""
    text = prose(markdown)
    images = [target for _, target in IMAGE.findall(text)]
    html = [target for tag in parsed(text).tags for target in (tag.get("href"), tag.get("src"))]
    plain = LINK.findall(IMAGE.sub(lambda found: found[1], text))
    return [unquote(target) for target in [*images, *plain, *filter(None, html)]]


def pictures_without_words(text: str) -> list[str]:
    """The pictures in Markdown or HTML that say nothing to whoever cannot see them."""
    text = prose(text)
    bare = [target for words, target in IMAGE.findall(text) if not words.strip()]
    return bare + parsed(text).wordless


class Tags(HTMLParser):
    """Collects the attributes of tags, and the pictures that have no words."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[dict[str, str | None]] = []
        self.wordless: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(given)
        if given.get("aria-hidden") == "true":
            return
        if (tag == "img" and not (given.get("alt") or "").strip()) or (
            tag == "svg" and not (given.get("aria-label") or given.get("aria-labelledby"))
        ):
            self.wordless.append(f"<{tag}>")


def parsed(html: str) -> Tags:
    """Read HTML; plain Markdown has no tags."""
    parser = Tags()
    parser.feed(html)
    return parser
