"""Notebook 08 in JupyterLab: a race between streams, mended, and a timeline."""

import pytest

pytestmark = pytest.mark.browser

CELLS = (
    "08_streams_fusion_graphs",
    "halves = gl.perf.timeline(in_halves)",
    "def wait_for_event",
    'gl.check("wait_for_event"',
)

MENDED = [
    "def wait_for_event(a, b, out):",
    "first, second = cuda.stream(), cuda.stream()",
    "on_gpu = [cuda.device_array_like(x) for x in (a, b, out)]",
    "on_gpu[0].copy_to_device(a, stream=first)",
    "on_gpu[1].copy_to_device(b, stream=second)",
    "copied = cuda.event()",
    "copied.record(second)",
    "copied.wait(first)",
    "vector_add[blocks_for(out.size, BLOCK), BLOCK, first](*on_gpu)",
    "on_gpu[2].copy_to_host(out, stream=first)",
    "first.synchronize()",
]


def test_a_learner_works_through_notebook_08(notebook):
    notebook.has_only_unsolved()
    notebook.hides_nothing_on_the_right()
    picture = notebook.cell("halves = gl.perf.timeline").locator(".jp-OutputArea img").first
    assert "Two streams: 272 µs, modelled" in picture.get_attribute("alt")
    notebook.screenshot("08-timeline")

    said = notebook.answer("def wait_for_event", [line for line in MENDED if ".wait(" not in line])
    assert "an event that is recorded orders nothing by itself" in said
    assert notebook.answer("def wait_for_event", MENDED).startswith(
        "✓ wait_for_event is right in all 4 cases"
    )
