"""`python -m tools.site OUT`: builds the course as a static site.

It executes each notebook once, as a learner finds it, and leaves it in OUT-executed. With
`--executed FOLDER` it executes only those that do not lie there, as an earlier build or a run of
the tests (with the environment variable GPULEARN_EXECUTED) left them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from sphinx.cmd.build import build_main

import gpulearn
from tests.notebooks.harness import NOTEBOOKS, faults
from tests.notebooks.page import read
from tools.links import ROOT, repository
from tools.site import browser_tab, check, contents
from tools.site.pages import page
from tools.site.reference import commands, namespaces, overview, reference, shortened, types

__all__ = ["main"]

HERE = Path(__file__).parent
REACHABLE = {
    "<pre>": '<pre tabindex="0">',  # wider than a phone, it is scrolled
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="The course"',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
}
SCROLLED = re.compile(r'<div class="(?:wide\b|table-wrapper\b)[^>"]*"')
REGION = 'tabindex="0" role="region" aria-label="Wide content {}"'
PAGES = [
    "browser_tab",
    "exercises",
    "recipes",
    "programs",
    "ranks",
    "gpu",
    "teaching",
    "glossary",
    "reference/index",
    "sources",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site and say how large it is; the exit status says whether all went well."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("out", type=Path, help="the folder for the site; what it holds is replaced")
    parser.add_argument("--executed", type=Path, help="a folder with executed notebooks")
    options = parser.parse_args(arguments)
    kept: Path = options.executed or options.out.with_name(f"{options.out.name}-executed")
    if options.executed is None:
        shutil.rmtree(kept, ignore_errors=True)
    notebooks, failed = executed(kept)
    if failed:
        print(
            f"{len(failed)} of {len(notebooks) + len(failed)} notebooks failed: "
            f"{', '.join(failed)}. Fix them, then run this again with --executed {kept}, "
            "which executes only them."
        )
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        source.mkdir()
        write(source, notebooks)
        os.environ["GPULEARN_VERSION"] = gpulearn.__version__
        built = Path(scratch) / "built" / "site"  # myst-nb leaves a folder of its own beside it
        status = build_main(["-q", "-W", "--keep-going", str(source), str(built)])
        shutil.rmtree(built / ".doctrees", ignore_errors=True)
        shutil.rmtree(options.out, ignore_errors=True)
        shutil.move(built, options.out)
    for path in options.out.rglob("*.html"):
        path.write_text(reachable(path.read_text(encoding="utf-8")), encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        browser_tab.build(options.out / browser_tab.FOLDER, Path(scratch), repository())
    (options.out / ".nojekyll").touch()  # GitHub Pages: folders with an underscore are pages too
    size = sum(file.stat().st_size for file in options.out.rglob("*") if file.is_file())
    problems = check.faults(options.out)
    print("\n".join([*problems, f"{options.out}: {size / 1e6:.1f} MB, {len(problems)} faults"]))
    return status or bool(problems)


def reachable(page: str) -> str:
    """A page of the theme with what it lacks for keyboards and screen readers."""
    for theirs, ours in REACHABLE.items():
        page = page.replace(theirs, ours)
    numbers = itertools.count(1)  # no two regions of a page have the same name
    return SCROLLED.sub(lambda div: f"{div[0]} {REGION.format(next(numbers))}", page)


def executed(folder: Path) -> tuple[dict[str, NotebookNode], list[str]]:
    """Name of each notebook → it with its outputs, and the names of those that do not run.

    What `folder` lacks is executed and left there.
    """
    notebooks: dict[str, NotebookNode] = {}
    failed = []
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        there = folder / path.name
        if not there.exists():
            print(f"executing {path.name}", flush=True)
            ran: list[NotebookNode] = []
            if errors := faults(read(path), path.name, "student", look=ran.append):
                print("\n".join(errors), flush=True)
                failed.append(path.stem)
                continue
            nbformat.write(ran[0], there)
        notebooks[path.stem] = nbformat.read(there, as_version=4)
    return notebooks, failed


def write(source: Path, notebooks: dict[str, NotebookNode]) -> None:
    """Write what Sphinx makes pages of."""
    address = repository()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    course = contents.lessons(readme)
    static = source / "_static"
    static.mkdir()
    for name in ("conf.py", "scorer.js", "favicon.svg", "around.html"):
        shutil.copy(HERE / name, source)
    for name in ("site.css", "figures.js"):
        shutil.copy(HERE / name, static)
    for picture in (NOTEBOOKS / "images").iterdir():
        shutil.copy(picture, static)
    (source / "notebooks").mkdir()
    for name, notebook in notebooks.items():
        rendered = page(notebook, name, address, static / "pictures")
        nbformat.write(rendered, source / "notebooks" / f"{name}.ipynb")
    texts = {
        "index.md": contents.front(course, notebooks, PAGES),
        "browser_tab.md": browser_tab.page({lesson.name: lesson.question for lesson in course}),
        "exercises.md": contents.exercises(course, notebooks),
        "glossary.md": contents.glossary(notebooks),
        "sources.md": contents.sources(course, notebooks),
        "recipes.md": contents.recipes(),
    }
    for file in (ROOT / "docs").glob("*.md"):
        texts[file.name] = contents.document(file.read_text(encoding="utf-8"), address)
    spaces = [(shortened(module), module) for module in namespaces()]
    texts |= {f"reference/{short}.rst": reference(module) for short, module in spaces}
    texts["reference/commands.rst"] = commands()
    texts["reference/types.rst"] = types()
    texts["reference/index.rst"] = overview([module for _, module in spaces])
    for name, text in texts.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
