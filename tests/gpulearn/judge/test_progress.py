"""Progress survives what files do, and never costs a check."""

import json
from pathlib import Path

import pytest

from gpulearn import check
from gpulearn import progress as show_progress
from gpulearn.errors import BadInput, WrongAnswer
from gpulearn.judge import progress
from gpulearn.kernels.matmul import matmul_flops

DAMAGED = (
    '{"matmul_flops": "2026-01-01"}',
    '{"solved": {"matmul_flops": 3}, "predicted": {}}',
    '{"solved": [], "predicted": {"a": 1}}',
    '{"solved": {}, "predicted": {"a": {"guessed": "3"}}}',
)


@pytest.fixture
def path(tmp_path, monkeypatch):
    file = tmp_path / "data" / "progress.json"
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(file))
    return file


def test_solved_is_kept_and_a_row_for_each_notebook_names_what_is_open(path):
    assert progress.load().solved == {}
    assert "0 of" in repr(show_progress())
    assert progress.record("matmul_flops") == ""
    assert list(json.loads(path.read_text())["solved"]) == ["matmul_flops"]
    assert "✓ 20" in repr(show_progress())
    row = next(row for row in show_progress("all").rows if row[0] == "01_cpu_vs_gpu_matmul")
    assert row[1] == "1 of 4"
    assert row[-1] == "matmul_loops, crossover, time_correctly"


def test_the_first_date_stays(path):
    path.parent.mkdir()
    path.write_text('{"solved": {"matmul_flops": "2026-01-01"}, "predicted": {}}')
    progress.record("matmul_flops")
    progress.record("crossover")
    assert progress.load().solved["matmul_flops"] == "2026-01-01"
    assert set(progress.load().solved) == {"matmul_flops", "crossover"}


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00\xff", *DAMAGED])
def test_damaged_file_costs_the_display_only(path, text):
    path.parent.mkdir()
    path.write_text(text, encoding="latin-1")
    assert "Progress is not known" in repr(show_progress())
    check("matmul_flops", matmul_flops)
    assert list(progress.load().solved) == ["matmul_flops"]
    assert path.with_suffix(".damaged").read_text(encoding="latin-1") == text


def test_a_second_damaged_file_does_not_replace_the_first(path):
    path.parent.mkdir()
    for text in ("{", "[", "]"):
        path.write_text(text)
        progress.record("crossover")
    kept = sorted(p.name for p in path.parent.iterdir())
    assert kept == ["progress.damaged", "progress.damaged-2", "progress.damaged-3", "progress.json"]


def test_an_unreadable_file_is_left_alone(path, monkeypatch):
    path.parent.mkdir()
    path.write_text('{"solved": {"crossover": "2026-01-01"}, "predicted": {}}')

    def refuse(*args, **kwargs):
        raise PermissionError("not yours")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert "cannot be read (not yours)" in progress.record("matmul_flops")
    monkeypatch.undo()
    assert path.read_text() == '{"solved": {"crossover": "2026-01-01"}, "predicted": {}}'


def test_unwritable_folder_costs_the_display_only(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(blocked / "progress.json"))
    assert "Not saved" in repr(check("matmul_flops", matmul_flops))


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.local/share/gpulearn/progress.json"),
        ("linux", {"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/gpulearn/progress.json"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/gpulearn/progress.json"),
        ("win32", {"USERPROFILE": "/u"}, "/u/AppData/Roaming/gpulearn/progress.json"),
        ("win32", {"USERPROFILE": "/u", "APPDATA": "/a"}, "/a/gpulearn/progress.json"),
        ("win32", {"GPULEARN_PROGRESS": "/p.json"}, "/p.json"),
        (
            "linux",
            {"HOME": "/h", "GPULEARN_PROGRESS": ""},
            "/h/.local/share/gpulearn/progress.json",
        ),
    ],
)
def test_place_on_each_platform(platform, environment, expected):
    assert progress.file(environment, platform) == Path(expected)


def test_tries_and_hints_are_counted_until_it_is_solved(path):
    for answer in (lambda m, n, p: m * n * p, lambda m, n, p: m * n * p, lambda m, n, p: 7):
        with pytest.raises(WrongAnswer):
            check("matmul_flops", answer)
    check("matmul_flops", matmul_flops)
    with pytest.raises(WrongAnswer):
        check("matmul_flops", lambda m, n, p: 8)
    tried = progress.load().tried["matmul_flops"]
    assert tried.count == 4
    assert tried.hints[0] == "that counts the products; each also takes an addition."
    assert len(tried.hints) == 2
    (row,) = (row for row in show_progress().rows if row[0] == "matmul_flops")
    assert row[1].startswith("✓ 20")
    assert row[2:] == ("4", "2")
    assert show_progress("all").rows[0][:4] == ("01_cpu_vs_gpu_matmul", "1 of 4", "4", "2")


def test_progress_from_before_tries_were_counted_is_kept(path):
    path.parent.mkdir()
    path.write_text('{"solved": {"crossover": "2026-01-01"}, "predicted": {}}')
    with pytest.raises(WrongAnswer):
        check("matmul_flops", lambda m, n, p: 7)
    assert progress.load().solved == {"crossover": "2026-01-01"}
    assert progress.load().tried["matmul_flops"].count == 1


def test_a_portfolio_is_a_page_that_loads_nothing(path, tmp_path):
    with pytest.raises(WrongAnswer):
        check("matmul_flops", lambda m, n, p: m * n * p)
    progress.record("crossover")
    file = tmp_path / "portfolio.html"
    told = show_progress(export=file)
    assert f"Written to {file}." in told.caption
    page = file.read_text(encoding="utf-8")
    assert "each also takes an addition" in page
    assert "not yet" in page
    assert "02_roofline" not in page
    assert "src=" not in page
    assert "http:" not in page


def test_what_else_is_asked_for_is_refused(path):
    with pytest.raises(BadInput, match="There is no progress 'portfolio.html': choose from all"):
        show_progress("portfolio.html")


@pytest.mark.parametrize("name", ["portfolio.pdf", "none/portfolio.html"])
def test_a_portfolio_that_cannot_be_written_is_told(path, tmp_path, name):
    with pytest.raises(BadInput, match="export is"):
        show_progress(export=tmp_path / name)
