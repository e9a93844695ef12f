"""What a link to a page shows where it is shared: a title, a description and a picture."""

from __future__ import annotations

import textwrap
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

__all__ = ["setup_preview"]

COURSE = "GPU programming and multi-GPU training, in notebooks that run on any laptop."
PICTURE = "_static/race.png"
PICTURE_SHOWS = "A report of the SIMT machine: a race with its two lines, and what each line costs"
LEAST, MOST = 90, 200  # characters of a description


def setup_preview(app: Sphinx) -> None:
    """Tell Sphinx that each page has a description, and what stands for it where it is shared."""
    app.connect("html-page-context", add_tags)


def add_tags(
    app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Put the tags into the head of a page."""
    description = described(doctree) if doctree else COURSE
    title = app.env.titles[pagename].astext() if doctree else context.get("title", "")
    properties = {
        "og:site_name": app.config.project,
        "og:type": "website" if pagename == "index" else "article",
        "og:title": title,
        "og:description": description,
        "og:url": context["pageurl"],
        "og:image": f"{app.config.html_baseurl}/{PICTURE}",
        "og:image:alt": PICTURE_SHOWS,
    }
    context["metatags"] = "\n".join(
        [
            context.get("metatags", ""),
            f'<meta name="description" content="{escape(description)}">',
            *(f'<meta property="{k}" content="{escape(v)}">' for k, v in properties.items()),
        ]
    )


def described(doctree: nodes.document) -> str:
    """The first paragraphs of a page, without those that begin with a link."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph[0], nodes.reference):
            text = f"{text} {paragraph.astext()}"
        if len(text) >= LEAST:
            break
    return textwrap.shorten(text or COURSE, MOST, placeholder=" …")
