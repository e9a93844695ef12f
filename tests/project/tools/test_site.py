"""The parts of the site: pages of executed notebooks, formulas, glossary, and its own examiner."""

import ast
import base64
import importlib
import re
from pathlib import Path
from types import ModuleType

import nbformat.v4 as v4
import pytest
from latex2mathml.converter import convert

import gpulearn as gl
from gpulearn.judge.catalogue import catalogue
from gpulearn.judge.predict import Outcome
from gpulearn.judge.prediction import Choices, Comparison, predictions
from gpulearn_lessons.fault_tolerance.recipes.recipe import RECIPES, recipe
from simt.device import selection
from simt.device.selection import ENVIRONMENT_VARIABLE as VARIABLE
from tests.notebooks.harness import NOTEBOOKS, SOLVED
from tests.notebooks.kernel import CLOSING_CELL
from tests.notebooks.page import read
from tools.links import ROOT, badge, repository
from tools.site import __main__ as site
from tools.site import check, contents, pages
from tools.site.__main__ import reachable
from tools.site.reference import commands, named, namespaces, overview, public, reference, types

README = (ROOT / "README.md").read_text(encoding="utf-8")
PIXEL = base64.b64encode(b"a picture").decode()
STORED = {path.stem: read(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}


def shown(**data):
    return v4.new_output("display_data", data={k.replace("_", "/"): t for k, t in data.items()})


def code(source, *outputs, tags=()):
    return v4.new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


def made(*cells, tmp_path=Path()):
    notebook = v4.new_notebook(cells=list(cells))
    return pages.page(notebook, "04_memory", repository(), tmp_path / "pictures").cells


def html(cell):
    return "\n".join(output["data"].get("text/html", "") for output in cell.outputs)


def test_a_badge_becomes_links_and_the_set_up_cell_goes():
    text = v4.new_markdown_cell(f"# T\n\n{badge(repository(), '04_memory')}")
    first, *rest = made(text, code("x", tags=["setup"]), code("y"))
    assert "badge.svg" not in first.source
    assert "[Download](https://raw.githubusercontent.com/" in first.source
    assert [cell.source for cell in rest] == ["y"]


def test_what_a_run_put_in_is_taken_out():
    cells = [code("stub", tags=["exercise"]), code("check", tags=["check"])]
    cells += [code("solution"), code("check", tags=["check", SOLVED]), code("after")]
    cells += [code(CLOSING_CELL)]
    assert [cell.source for cell in made(*cells)] == ["stub", "check", "after"]


def test_what_somebody_else_has_solved_is_not_shown():
    (cell,) = made(code("gl.progress()", shown(text_html="<table>7 of 141 solved</table>")))
    assert html(cell) == pages.OWN_PROGRESS


def test_a_widget_is_read_as_its_static_figure_and_pictures_become_files(tmp_path):
    figure = f'<img alt="a" src="data:image/png;base64,{PIXEL}">'
    widget = shown(text_html=figure, text_plain="[interactive figure]")
    widget["data"]["application/vnd.jupyter.widget-view+json"] = {"model_id": "1"}
    (cell,) = made(code("explore()", widget), tmp_path=tmp_path)
    assert set(cell.outputs[0]["data"]) == {"text/html", "text/plain"}
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.read_bytes() == b"a picture"
    assert html(cell) == f'<img alt="a" src="../_static/pictures/{picture.name}">'


def test_a_picture_with_controls_says_that_they_work_in_the_notebook():
    said = '<p role="status">Step 4 of 9.</p>'
    widget = shown(text_html=said, text_plain="[interactive figure]")
    plain = shown(text_html=said)
    widget["data"][pages.WIDGET] = {"model_id": "1"}
    assert [html(cell) for cell in made(code("a", widget), code("b", plain))] == [
        pages.WIDGET_NOTE + said,
        said,
    ]


def test_a_progress_bar_and_a_script_are_not_kept():
    bar = shown(text_plain="1,024 ranks: 0 messages [00:00, ? messages/s]")
    script = shown(text_plain="")
    script["data"]["application/javascript"] = "1"
    (cell,) = made(code("gl.simulate(fn, 1024)", bar, script, shown(text_plain="[0, 1]")))
    assert [one["data"]["text/plain"] for one in cell.outputs] == ["[0, 1]"]


def test_the_banner_does_not_name_a_variable_of_whoever_built_the_page(monkeypatch, capsys):
    monkeypatch.setattr(selection, "current", lambda: selection.decide({VARIABLE: "cpu"}))
    gl.banner()
    stream = v4.new_output("stream", name="stdout", text=capsys.readouterr().out)
    (cell,) = made(code("gl.banner()", stream))
    assert "no GPU was used: kernels run on the SIMT machine" in cell.outputs[0]["text"]
    assert VARIABLE not in cell.outputs[0]["text"]


def test_a_prediction_shows_its_question_and_folds_the_reasons():
    one = next(
        one for one in predictions().values() if isinstance(one, Choices) and not one.measured
    )
    asked = code(f'gl.predict("{one.name}")', shown(text_html="<b>Predict</b>", text_plain="?"))
    right = Outcome("4 <sectors>", Comparison(True, "4 <sectors>", ""))
    wrong = Outcome("-1", Comparison(False, "8 sectors", "Not so."))
    outputs = [shown(text_html=one._repr_html_(), text_plain=repr(one)) for one in (right, wrong)]
    asked, came = made(asked, code("f()", *outputs))
    assert "remove-input" in asked.metadata.tags
    assert html(asked).count("<li>") == sum(bool(why) for why in one.choices.values())
    assert "What came:</strong> 4 &lt;sectors&gt;</p>" in html(came)
    assert "What came:</strong> 8 sectors</p>" in html(came)


def test_an_unsolved_check_says_how_it_is_judged_with_its_hints_folded():
    error = v4.new_output("error", ename="NotSolvedYet", evalue="", traceback=["not yet"])
    (cell,) = made(code('gl.check("vector_add", vector_add)', error, tags=["check"]))
    assert 'href="../exercises.html#vector_add"' in html(cell)
    assert "not yet" not in html(cell)
    assert html(cell).count("<li>") == len(catalogue()["vector_add"].answers.hints) > 4


def test_an_output_of_an_unsolved_exercise_says_so():
    cells = [code('gl.check("vector_add", vector_add)', tags=["check"])]
    cells += [
        code("vector_add[1, 2](a)", shown(text_plain="0")),
        code("g()", shown(text_plain="1")),
    ]
    _, after, other = made(*cells)
    assert "Nobody has solved <code>vector_add</code> for this page" in html(after)
    assert html(other) == ""


def test_an_error_shown_on_purpose_is_kept_without_its_colors():
    error = v4.new_output("error", ename="E", evalue="v", traceback=["\x1b[31mE\x1b[0m: a < b"])
    (cell,) = made(code("boom()", error))
    assert html(cell) == '<pre class="stopped">E: a &lt; b</pre>'


def test_the_course_is_the_readmes_table_and_each_notebook_has_its_part():
    course = contents.lessons(README)
    assert [one.name for one in course] == sorted(STORED)
    text = contents.front(course, STORED, ["exercises"])
    assert "[18 · Sharded training](notebooks/18_sharded_training.ipynb)" in text
    assert all(
        f"notebooks/{name}.ipynb)" in text and f"notebooks/{name}\n" in text for name in STORED
    )
    counted = sum(map(int, re.findall(r"\| (\d+) \|$", text, re.MULTILINE)))
    assert counted == len(catalogue())


def test_each_exercise_has_its_place_in_a_notebook():
    course = contents.lessons(README)
    text = contents.exercises(course, STORED)
    for one in catalogue().values():
        own = text[text.index(f"({one.name})=") :].partition("\n(")[0]
        given = own.partition("```python\n")[2].partition("```")[0]
        ast.parse(given)
        assert f'gl.check("{one.name}", {one.name})' in given
        assert f"### Exercise: {one.name}" in "\n".join(
            cell.source for cell in STORED[one.notebook].cells if cell.cell_type == "markdown"
        )


def test_each_term_of_the_glossary_is_introduced():
    text = contents.glossary(STORED)
    assert all(f"**{one}**" in said for one, said in contents.terms().items() if said)
    assert len(contents.terms()) == len(set(contents.terms())) > 150
    assert text.count("\n  ") == len(contents.terms())


def test_a_term_is_found_at_the_head_of_a_sentence_or_of_a_point_and_out_of_brackets():
    prose = "# A\n(**CUDA** is a platform.)\n- **All-gather:** all get all.\n**Momentum** adds."
    stored = {"01_a": v4.new_notebook(cells=[v4.new_markdown_cell(prose)])}
    found = {one: contents.introduced(one, stored) for one in ("CUDA", "all-gather", "momentum")}
    assert [said for _, _, said in found.values()] == [
        "**CUDA** is a platform.",
        "**All-gather:** all get all.",
        "**Momentum** adds.",
    ]
    assert contents.introduced("gather", stored) is None


def test_a_sentence_that_points_back_brings_the_one_before():
    said = ["One.", "The rest waits.", "This is called a **barrier**."]
    assert contents.around("**barrier**", said) == "The rest waits. This is called a **barrier**."
    assert contents.around("**x**", ["One.", "An **x** is."]) == "An **x** is."


def test_sources_are_links_and_papers():
    text = 'See [Guide](https://a.b/c) (Ho et al., "Stale", arXiv 1234.56789, 2013).'
    assert list(contents.citations(text)) == [
        "[Guide](https://a.b/c)",
        'Ho et al., "Stale", arXiv 1234.56789, 2013 ([arXiv](https://arxiv.org/abs/1234.56789))',
    ]


def test_a_link_with_a_title_is_cited_by_it():
    text = 'They grow ([Ho, 1964](https://a.b/c "Ho, Some methods, 1964")).'
    assert list(contents.citations(text)) == ["[Ho, Some methods, 1964](https://a.b/c)"]


def test_every_notebook_has_its_sources():
    course = contents.lessons(README)
    text = contents.sources(course, STORED)
    assert not [one.name for one in course if f"## {one.number} · {one.question}" not in text]


def test_a_citation_without_author_or_title_brings_its_sentence():
    link = "It hangs. NCCL says so in its [documentation](https://a.b/c)."
    assert list(contents.citations(link)) == [link.removeprefix("It hangs. ")]
    paper = "Ho asked it (arXiv 1234.56789, 2013)."
    assert list(contents.citations(paper)) == [
        f"{paper} ([arXiv](https://arxiv.org/abs/1234.56789))"
    ]


def test_teaching_leads_into_the_repository():
    text = contents.document(
        (ROOT / "docs/teaching.md").read_text(encoding="utf-8"), "https://a.b/c"
    )
    headings = re.findall(r"^#+ .+", text, re.MULTILINE)
    parts = ["A first assignment", "Set an exercise", "Write an exercise", "Grade a class"]
    parts += ["What is protected", "Make a course pack"]
    assert headings == ["# Teaching with gpulearn", *(f"## {part}" for part in parts)]
    assert "](https://a.b/c/blob/main/gpulearn/judge/hints.py)" in text
    assert "](_static/results.png)" in text
    assert not contents.INSIDE.search(text)


def test_each_recipe_stands_on_its_page():
    text = contents.recipes()
    for name in RECIPES:
        assert f"## {name}" in text
        assert recipe(name).rstrip() in text


@pytest.mark.parametrize("name", STORED)
def test_every_formula_can_be_written_as_mathml(name):
    prose = "\n".join(c.source for c in STORED[name].cells if c.cell_type == "markdown")
    for formula in re.findall(r"\$\$(.+?)\$\$", prose, re.DOTALL):
        written = convert(formula.strip())
        assert "<math" in written
        assert "\\" not in re.sub(r"<[^>]*>", "", written), formula


@pytest.mark.parametrize("module", namespaces(), ids=lambda module: module.__name__)
def test_the_reference_has_every_public_name(module):
    text = reference(module)
    for name in public(module):
        one = getattr(module, name)
        assert f".{name}\n---" in text or isinstance(one, ModuleType)


def test_the_reference_says_what_a_class_can_do_and_defaults_as_they_are_written():
    text = reference(importlib.import_module("gpulearn.judge"))
    assert "``.shape(*args: Any, block: Shape | None = None) -> tuple[Shape, Shape]``" in text
    assert "kernel: str = ''," in text
    assert " at 0x" not in text
    assert "``.difference" not in text  # a field, whose default is a function


def test_a_type_that_a_signature_names_stands_on_a_page_and_is_linked_from_it():
    text = types()
    assert "History\n-------\n" in text
    assert "Answer\n------\n\n``Callable[..., Any]``" in text
    assert "ForwardRef" not in text
    titles = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    pages = [text, *map(reference, namespaces())]
    linked = {one for page in pages for one in re.findall(r"`(\w+) <types\.html#", page)}
    assert len(titles) == len(set(titles)) > 50
    assert set(titles) == linked
    assert "`History <types.html#history>`__" in reference(importlib.import_module("gpulearn"))


def test_the_commands_say_what_they_say_in_a_terminal():
    text = commands()
    sections = dict(re.findall(r"^(gpulearn[^\n]*)\n-+\n(.*?)(?=^gpulearn|\Z)", text, re.M | re.S))
    options = {
        "gpulearn": "--json",
        "gpulearn run": "--sanitize",
        "gpulearn ranks": "--report PAGE.html",
        "gpulearn exercise": "{check} file",
        "gpulearn course": "--force",
        "gpulearn grade": "--settings FILE.toml",
    }
    assert sections.keys() == options.keys()
    assert not [title for title, option in options.items() if option not in sections[title]]


def test_the_overview_has_a_line_for_each_name():
    text = overview(namespaces())
    assert "- `gl.xray <gl.html#gl-xray>`__: " in text
    rows = [row for row in text.splitlines() if row.startswith("- `")]
    assert len(rows) == len(set(rows)) == sum(len(list(named(one))) for one in namespaces())
    assert not [row for row in rows if row.endswith(": ")]


def test_the_examiner_finds_each_kind_of_fault(tmp_path):
    (tmp_path / "b.html").write_text('<p id="here">')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#away"></a><a href="c.html"></a>'
        '<a href="https://a.b/c"></a><img src="no.png" alt="x"><img src="b.html" alt=" ">'
        '<script src="https://a.b/c.js"></script><link rel="canonical" href="https://a.b">'
        '<link rel="stylesheet" href="//a.b/c.css"><img alt="x" src="data:image/png;base64,aa">'
    )
    assert check.faults(tmp_path) == [
        "a.html: b.html has no alternative text",
        "a.html: loads no.png, which is not there",
        "a.html: loads https://a.b/c.js from elsewhere",
        "a.html: loads //a.b/c.css from elsewhere",
        "a.html: links to b.html#away, where no place has this name",
        "a.html: links to c.html, which is not there",
    ]


def test_what_can_be_scrolled_can_be_reached_by_keyboard():
    assert reachable("<pre>x</pre>") == '<pre tabindex="0">x</pre>'
    made = reachable('<div class="wide">1</div><div class="table-wrapper docutils">2</div>')
    region = '{} tabindex="0" role="region" aria-label="Wide content {}">{}</div>'
    assert made == region.format('<div class="wide"', 1, 1) + region.format(
        '<div class="table-wrapper docutils"', 2, 2
    )


def test_a_notebook_that_fails_costs_no_other_and_is_named_last(tmp_path, monkeypatch, capsys):
    run, failing = [], ["05_shared_memory_and_barriers: cell 3"]

    def faults(notebook, name, form, look):
        run.append(name)
        look(notebook)
        return failing if name.startswith("05") else []

    monkeypatch.setattr(site, "faults", faults)
    assert site.main([str(tmp_path / "out")]) == 1
    said = capsys.readouterr().out.splitlines()[-1]
    told = f"1 of {len(run)} notebooks failed: 05_shared_memory_and_barriers. Fix"
    assert said.startswith(told)
    kept = tmp_path / "out-executed"
    assert len(list(kept.iterdir())) == len(run) - 1
    run.clear()
    assert site.main([str(tmp_path / "out"), "--executed", str(kept)]) == 1
    assert run == ["05_shared_memory_and_barriers.ipynb"]
