"""How Sphinx builds the site; `tools.site.build` sets what depends on the project."""

import os
from pathlib import Path

from sphinx.application import Sphinx

from tools.links import documentation
from tools.site.mathml import setup_math
from tools.site.preview import setup_preview

project = "gpulearn"
author = "The gpulearn authors"
copyright = "2026, the gpulearn authors"  # noqa: A001 - Sphinx reads this name
release = os.environ.get("GPULEARN_VERSION", "")
extensions = ["myst_nb", "sphinx_copybutton"]
copybutton_selector = "div.highlight pre:not(.cell_output pre)"
templates_path = ["."]
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_heading_slug_func = "tools.site.contents.anchor"
default_role = "code"
html_theme = "furo"
html_baseurl = documentation()
html_title = "gpulearn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["figures.js"]
html_favicon = "favicon.svg"
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "around.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app: Sphinx) -> None:
    """Tell Sphinx how a formula is written, and what a shared link shows."""
    setup_math(app)
    setup_preview(app)
