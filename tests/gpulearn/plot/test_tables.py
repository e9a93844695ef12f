"""Tables read as text and as HTML."""

import re

import pytest

from gpulearn import table
from gpulearn.errors import BadInput


def test_table_reads_as_text_and_html():
    shown = table([{"n": 8, "x<y": "a&b"}], caption="from here")
    assert repr(shown) == "n  x<y\n-  ---\n8  a&b\nfrom here"
    html = shown._repr_html_()
    assert '<th scope="col" style="text-align:left">x&lt;y</th>' in html
    assert '<td style="text-align:left">a&amp;b</td>' in html
    assert "<caption" in html


def test_a_long_caption_does_not_make_a_table_wider_than_the_page():
    caption = "No GPU here, and no times recorded. " * 8 + "a<b."
    lines = re.search("<caption.*?>(.*)</caption>", table([{"n": 8}], caption)._repr_html_())[1]
    assert lines.replace("<br>", " ") == caption.replace("<", "&lt;")
    assert all(len(line) <= 90 for line in lines.split("<br>"))


def test_table_sets_numbers_right_and_words_left():
    row = {"n": 8, "time": "9.4 ms", "shape": "(32, 8)", "gain": "–", "from": "2 data sheets"}
    html = table([row, row | {"gain": "<1×"}])._repr_html_()
    for heading, side in zip(row, ["left", "right", "right", "right", "left"], strict=True):
        assert f'text-align:{side}">{heading}</th>' in html


def test_a_date_or_a_number_is_not_broken_and_words_are():
    html = table([{"n": 8, "last": "✓ 2026-11-21", "open": "one, two"}])._repr_html_()
    assert ';white-space:nowrap">✓ 2026-11-21</td>' in html
    assert ';white-space:nowrap">one, two</td>' not in html


@pytest.mark.parametrize("rows", [[], None, [1, 2], [{"a": 1}, {"b": 2}], "abc"])
def test_table_refuses(rows):
    with pytest.raises(BadInput):
        table(rows)


def test_prices_in_a_cell_are_no_formula():
    """JupyterLab would set what stands between two dollar signs as mathematics."""
    assert '<table class="mathjax_ignore">' in table([{"rent": "$2 to $5"}])._repr_html_()
