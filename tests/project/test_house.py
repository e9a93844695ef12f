"""The shape of the house: arrows, sizes, names, and each thing written once."""

import ast
import importlib
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

import gpulearn as gl
from gpulearn.__main__ import COMMANDS
from gpulearn.judge.catalogue import catalogue, places
from gpulearn.kernels.specification import Specification
from gpulearn.perf.gpus import GPUS
from tests.support.rights import rights_of
from tools.record.launches import kernel_modules

from ..gpulearn.kernels.found import package_kernels

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("simt", "gpulearn", "gpulearn_lessons", "gpulearn_grading")
SOURCES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
TOOLS = sorted((ROOT / "tools").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# folder and kind of file → the most lines that a person has to read there; they may only shrink
LIMITS = {
    ("gpulearn", "*.py"): 19_850,
    ("gpulearn_lessons", "*.py"): 28_300,
    ("gpulearn_lessons", "*.hints"): 14_220,
    ("gpulearn_lessons", "*.toml"): 3_300,
    ("gpulearn_grading", "*.py"): 4_250,
    ("simt", "*.py"): 29_800,
    ("tools", "*.py"): 4_000,
    ("tests", "*.py"): 50_010,
}
MAX_TOP_NAMES = 45
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def where(path):
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def text_of(notebook):
    """Code and prose."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


@cache
def public(package):
    """Name → (module, what it is called there), from the package's list of public names."""
    stub = Path(package.__file__).with_suffix(".pyi")
    names = {}
    for node in ast.parse(stub.read_text()).body if stub.exists() else ():
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = f"{package.__name__}." * bool(node.level) + (node.module or alias.name)
                names[alias.asname or alias.name] = (module, alias.name)
    return names


@cache
def namespaces():
    """The names of the top level under which others are found."""
    modules = {name for name, (home, _) in public(gl).items() if home == f"gpulearn.{name}"}
    return {name for name in modules if (ROOT / "gpulearn" / name / "__init__.pyi").exists()}


def test_an_import_only_points_down(monkeypatch, capfd):
    """The contracts stand in pyproject.toml, for people and for editors too."""
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0, capfd.readouterr().out


def test_the_packages_name_neither_tests_nor_tools():
    outside = re.compile(r"\b(?:tests|tools)[./]\w+")
    named = {where(path): outside.findall(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {place: names for place, names in named.items() if names} == {}


@pytest.mark.parametrize(("folder", "pattern"), LIMITS)
def test_a_folder_stays_as_small_as_was_agreed(folder, pattern):
    files = (ROOT / folder).rglob(pattern)
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert lines <= LIMITS[folder, pattern]


def test_a_module_begins_with_what_it_is():
    first = {where(path): ast.get_docstring(tree(path)).splitlines()[0] for path in SOURCES}
    assert [place for place, line in first.items() if not line.endswith(".")] == []


def test_the_top_level_has_few_names_and_each_is_an_everyday_one():
    names = public(gl)
    assert len(names) <= MAX_TOP_NAMES
    readme = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in names.keys() - namespaces():
        word = re.compile(rf"\bgl\.{name}\b|from gpulearn import [\w, ]*\b{name}\b")
        notebooks = [notebook.name for notebook in NOTEBOOKS if word.search(text_of(notebook))]
        assert len(notebooks) >= 2 or word.search(readme), (name, notebooks)


def test_no_private_name_is_taken_from_another_module():
    taken = {where(path): private_names(path) for path in (*SOURCES, *TOOLS)}
    assert {place: names for place, names in taken.items() if names} == {}


def private_names(path):
    """Names with an underscore that a file takes from other modules of the project."""
    taken, modules = [], set()
    for node in ast.walk(tree(path)):
        if not (isinstance(node, ast.ImportFrom) and node.module):
            continue
        if node.module.partition(".")[0] in (*PACKAGES, "tools"):
            taken += [a.name for a in node.names if re.match(r"_(?!_)", a.name)]
            places = ((ROOT / node.module.replace(".", "/") / a.name, a) for a in node.names)
            modules |= {
                alias.asname or alias.name
                for place, alias in places
                if place.is_dir() or place.with_suffix(".py").exists()
            }
    for node in ast.walk(tree(path)):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules:
                if attr.startswith("_") and not attr.startswith("__"):
                    taken.append(f"{name}.{attr}")
    return taken


def test_every_module_is_reached_from_a_notebook_a_check_or_a_command():
    graph = grimp.build_graph("gpulearn", "gpulearn_lessons", cache_dir=None)
    roots = {
        "gpulearn.__main__", "gpulearn.cuda", "gpulearn.lazy",
        "gpulearn.parallel.launch.preloaded", "gpulearn_lessons.fault_tolerance.train",
        "gpulearn.parallel.watch.worker", *(module for module, _ in COMMANDS.values()),
        *(module for module in graph.modules if module.startswith("gpulearn.judge.")),
        *(f"{topic.__name__}.{name}" for name, topic in places().items()),
    }  # fmt: skip
    texts = [*map(text_of, NOTEBOOKS), *(page.read_text(encoding="utf-8") for page in PAGES)]
    for text in texts:
        roots |= graph.modules & set(re.findall(r"gpulearn\w*(?:\.\w+)+", text))
        for package, plain, wrapped in re.findall(
            r"from (gpulearn\w*(?:\.\w+)*) import (?:\(([\w,\s]+)\)|([\w, ]+))", text
        ):
            module = importlib.import_module(package)
            for name in re.findall(r"\w+", plain or wrapped):
                roots |= {f"{package}.{name}"} & graph.modules
                if hasattr(module, "__path__") and name in public(module):
                    roots.add(public(module)[name][0])
        for name, inner in re.findall(r"\bgl\.(\w+)(?:\.(\w+))?", text):
            if name in namespaces():
                roots |= {public(getattr(gl, name))[inner][0]} if inner else set()
            elif name in public(gl):
                roots.add(public(gl)[name][0])
        for topic, name in re.findall(r"\b([a-z_]+)\.(\w+)", text):  # from gpulearn_lessons import
            if (ROOT / "gpulearn_lessons" / topic).is_dir():
                module = importlib.import_module(f"gpulearn_lessons.{topic}")
                roots |= {public(module)[name][0]} if name in public(module) else set()
    roots &= graph.modules
    reached = roots.union(*(graph.find_upstream_modules(root) for root in roots))
    packages = {where(path.parent).replace("/", ".") for path in SOURCES if path.stem == "__init__"}
    assert sorted(graph.modules - reached - packages) == []


def specifications():
    things = [thing for module in kernel_modules() for thing in vars(module).values()]
    known = {id(thing): thing for thing in things if isinstance(thing, Specification)}
    return list(known.values())


def test_each_kernel_has_one_specification():
    kernels = Counter(id(specification.kernel) for specification in specifications())
    assert max(kernels.values()) == 1
    missing = [name for name, kernel in package_kernels().items() if id(kernel) not in kernels]
    assert missing == []


def test_an_exercise_on_a_kernel_has_its_specification():
    known = {id(specification.kernel) for specification in specifications()}
    for exercise in catalogue().values():
        if hasattr(exercise.reference, "py_func"):
            assert id(exercise.reference) in known, exercise.name


def test_facts_of_gpus_stand_in_one_table():
    names = set(GPUS)
    tables = [
        f"{where(path)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Dict)
        and len({k.value for k in node.keys if isinstance(k, ast.Constant)} & names) >= 2
    ]
    assert tables == []


def test_every_edit_fits_its_solution():
    for exercise in catalogue().values():
        assert all(callable(wrong.answer) for wrong in exercise.answers.wrongs)
        assert all(map(callable, rights_of(exercise)))
