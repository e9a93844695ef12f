"""Where notebooks point, and what they share: links, anchors, definitions, the README."""

import re
from collections.abc import Iterator, Mapping

from nbformat import NotebookNode

from gpulearn.judge.cells import has
from tests.notebooks.markup import anchor, headings
from tests.notebooks.markup import links as links_in
from tests.notebooks.page import Finding, Page, definitions, read
from tools import links


def links_lead_somewhere(page: Page) -> Iterator[Finding]:
    """Relative links must lead to files, and anchors to headings."""
    for index, cell in page.cells("markdown"):
        for target in links_in(cell.source):
            path, _, fragment = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            if path and not (page.folder / path).exists():
                yield index, f"links to {path}, which does not exist"
            elif fragment and fragment not in anchors(page, path):
                yield index, f"links to #{fragment}, which is no heading's anchor in JupyterLab"


def anchors(page: Page, path: str) -> set[str]:
    """The anchors in a notebook or Markdown file; those of the page itself for no path."""
    if path.endswith(".ipynb"):
        page = Page(read(page.folder / path), path, page.folder)
    elif path:
        text = (page.folder / path).read_text(encoding="utf-8")
        return {anchor(heading) for _, heading in headings(text)}
    return {anchor(heading) for _, _, heading in page.headings()}


def repeated_definitions(notebooks: Mapping[str, NotebookNode]) -> list[str]:
    """Names that two notebooks define; what is needed twice belongs in the package."""
    homes: dict[str, list[str]] = {}
    for notebook_name, notebook in notebooks.items():
        for cell in notebook.cells:
            # a stub is the exercise's own, whatever a later notebook calls its function
            if cell.cell_type == "code" and not has(cell, "exercise"):
                for name in definitions(cell.source):
                    if notebook_name not in homes.setdefault(name, []):
                        homes[name].append(notebook_name)
    return [
        f"{', '.join(where)}: both define {name}: import it from the package"
        for name, where in homes.items()
        if len(where) > 1
    ]


def readme_findings(text: str, notebooks: Mapping[str, NotebookNode], address: str) -> list[str]:
    """What the README's map of notebooks leaves out, and what it lists in vain."""
    found = []
    for name in notebooks:
        if links.badge(address, name) not in text:
            found.append(f"README.md lacks the Colab badge of {name}: {links.badge(address, name)}")
        if f"](notebooks/{name}.ipynb)" not in text:
            found.append(f"README.md does not link to notebooks/{name}.ipynb")
    listed = re.findall(r"notebooks/(\w+)\.ipynb", text)
    return found + [
        f"README.md lists notebooks/{name}.ipynb, which does not exist"
        for name in dict.fromkeys(listed)
        if name not in notebooks
    ]
