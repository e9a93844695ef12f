"""What an instructor sees of a graded class; `notebooks/images/results.png` is its picture."""

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from gpulearn_grading.command_line import main

pytestmark = pytest.mark.browser

BLOCKS = "def blocks_for(n, block_size):\n    return {}\n"
ADD = (
    "@cuda.jit\ndef vector_add(a, b, out):\n    i = {}\n"
    "    if i < out.size:\n        out[i] = a[i] + b[i]\n"
)
UP, DOWN, GRID = "-(-n // block_size)", "n // block_size", "cuda.grid(1)"
GUARDED = "if i < out.size:\n        out"
CLASS = {
    "ann": (BLOCKS.format(UP), ADD.format(GRID)),
    "ben": (BLOCKS.format(DOWN), ADD.format(GRID)),
    "chloe": (BLOCKS.format(UP), ADD.format(GRID).replace(GUARDED, "out")),
    "dmitri": (BLOCKS.format(DOWN), ADD.format("cuda.threadIdx.x")),
    "eva": (BLOCKS.format(f"{DOWN} + 1"), ADD.format(GRID)),
    "farid": (BLOCKS.format(UP).replace("return", "while True: n //"), ADD.format(GRID)),
    "grace": (BLOCKS.format("..."), ADD.format(GRID).replace(GUARDED, "out")),
    "hugo": (BLOCKS.format("__import__('os')._exit(0)"), ADD.format(GRID)),
}
SETTINGS = (
    'exercises = ["blocks_for", "vector_add"]\n\n[weights]\nvector_add = 2\n\n'
    "[limits]\nseconds = 3\n"
)


def test_an_instructor_sees_who_has_what_and_what_went_wrong_most(tmp_path, browser):
    homework = tmp_path / "homework"
    homework.mkdir()
    (homework / "grading.toml").write_text(SETTINGS)
    for student, (blocks, add) in CLASS.items():
        (homework / f"{student}.py").write_text(f"from gpulearn import cuda\n\n\n{add}\n\n{blocks}")
    results = tmp_path / "results.csv"
    assert main([str(homework), "-o", str(results)]) == 0

    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.goto(results.with_suffix(".html").as_uri())
    rows = {row.locator("th").inner_text(): row for row in page.locator("tbody tr").all()[:8]}
    for student, said in {
        "ann": ["✓ passed", "✓ passed", "3 of 3"],
        "chloe": ["✓ passed", "wrong", "1 of 3"],
        "farid": ["time", "✓ passed", "2 of 3"],
        "grace": ["not solved", "wrong", "0 of 3"],
    }.items():
        assert rows[student].locator("td").all_inner_texts() == said
    first = page.locator("h3:has-text('blocks_for') + table tbody tr").first
    assert "it rounds down" in first.inner_text()
    assert "ben, dmitri" in first.inner_text()
    looked_at = page.locator("h2:has-text('To look at') ~ table").inner_text()
    assert "hugo" in looked_at
    found = Axe().run(page).response["violations"]
    assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    if folder := os.environ.get("GPULEARN_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / "results.png", full_page=True)
    page.close()
