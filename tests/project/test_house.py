"""The shape of the package: layers, names, folders, and each thing written once."""

import ast
import importlib
import json
import pkgutil
import re
from collections import Counter
from functools import cache
from pathlib import Path

import grimp
from importlinter.cli import lint_imports

import gpulearn as gl
from gpulearn.judge.catalogue import catalogue
from gpulearn.kernels.specification import Specification
from gpulearn.perf.gpus import GPUS

from ..kernels.found import package_kernels
from ..support.rights import rights_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gpulearn"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TOOLS = sorted((ROOT / "tools").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# what a reader needs in one piece
LONG = {
    "simt/frontend/translate.py": 800,  # the translator: one method for each node
    "simt/compiled/rewrite.py": 520,  # the translator for Numba's CPU compiler, likewise
    "simt/machine/machine.py": 680,  # the executor
    "simt/ptx/translate.py": 700,  # the translator of PTX: one method for each instruction
    "simt/ptx/memory.py": 400,
    "simt/observers/races.py": 480,
    "gpulearn/require.py": 425,
    "gpulearn_lessons/backprop/graphs.py": 400,
    "gpulearn/perf/gpus.py": 400,  # the one table of GPUs
}
LONGEST = 350
CATALOGUE = 550  # an exercise with all its known answers
# a module for each thing, however many there are
CATALOGUES = ("gpulearn/kernels", "gpulearn/plot", "gpulearn/judge/")
MOST = 16


def where(path):
    return path.relative_to(ROOT).as_posix()


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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
    """Name → (module, what it is called there), from the package's stub."""
    found = {}
    for node in ast.parse((Path(package.__file__).with_suffix(".pyi")).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for one in node.names:
                home = f"{package.__name__}.{node.module or one.name}"
                found[one.asname or one.name] = (home, one.name)
    return found


@cache
def namespaces():
    """The names of the top level under which others are found."""
    modules = {name for name, (home, _) in public(gl).items() if home == f"gpulearn.{name}"}
    return {name for name in modules if (PACKAGE / name / "__init__.pyi").exists()}


# --- layers


def test_an_import_only_points_down(monkeypatch, capfd):
    """The contracts stand in pyproject.toml, for people and for editors too."""
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0, capfd.readouterr().out


def test_the_package_names_neither_tests_nor_tools():
    named = re.compile(r"\b(?:tests|tools)[./]\w+")
    found = {where(p): named.findall(p.read_text(encoding="utf-8")) for p in SOURCES}
    assert {place: names for place, names in found.items() if names} == {}


# --- names


def test_the_top_level_has_at_most_45_names_and_each_is_an_everyday_one():
    names = public(gl)
    assert len(names) <= 45
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in names.keys() - namespaces():
        word = re.compile(rf"\bgl\.{name}\b|from gpulearn import [\w, ]*\b{name}\b")
        notebooks = [n.name for n in NOTEBOOKS if word.search(text_of(n))]
        assert len(notebooks) >= 2 or word.search(readme), (name, notebooks)


def test_no_class_has_the_name_of_another():
    names = Counter(
        node.name
        for path in SOURCES
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_private_name_is_taken_from_another_module():
    taken = {where(path): private_names(path) for path in (*SOURCES, *TOOLS)}
    assert {place: names for place, names in taken.items() if names} == {}


def private_names(path):
    """Names with an underscore that a file takes from other modules of the project."""
    taken, modules = [], set()
    for node in ast.walk(tree(path)):
        ours = isinstance(node, ast.ImportFrom) and node.module
        if ours and node.module.startswith(("gpulearn", "tools")):
            taken += [a.name for a in node.names if re.match(r"_(?!_)", a.name)]
            modules |= {n for a in node.names if is_module(path, n := a.asname or a.name)}
    for node in ast.walk(tree(path)):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules:
                if attr.startswith("_") and not attr.startswith("__"):
                    taken.append(f"{name}.{attr}")
    return taken


def is_module(path, name):
    """Whether a name that is imported in a file is a module."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                if (one.asname or one.name) == name:
                    place = ROOT / (node.module.replace(".", "/") + f"/{one.name}")
                    return place.is_dir() or place.with_suffix(".py").exists()
    return False


# --- folders and modules


def test_a_folder_can_be_taken_in_at_a_glance():
    sizes = Counter(where(p.parent) for p in SOURCES if p.name != "__init__.py")
    assert {f: n for f, n in sizes.items() if n > MOST and not f.startswith(CATALOGUES)} == {}


def test_a_module_holds_one_idea():
    lines = {where(p): len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCES}
    usual = {p: CATALOGUE if "/exercise/" in p else LONGEST for p in lines}
    long = {place: n for place, n in lines.items() if n > LONG.get(place, usual[place])}
    assert long == {}
    first = {where(p): ast.get_docstring(tree(p)).splitlines()[0] for p in SOURCES}
    assert [place for place, line in first.items() if not line.endswith(".")] == []


def test_every_module_is_reached_from_a_notebook_a_check_or_a_command():
    graph = grimp.build_graph("gpulearn", cache_dir=None)
    roots = {
        "gpulearn.__main__", "gpulearn_lessons.fault_tolerance.train", "gpulearn.cuda", "gpulearn.lazy",
        "simt.programs.magic", "gpulearn.parallel.launch.preloaded",
        *(m for m in graph.modules if m.startswith("gpulearn.judge.")),
    }  # fmt: skip
    texts = [*map(text_of, NOTEBOOKS), (ROOT / "README.md").read_text(encoding="utf-8")]
    for text in texts:
        roots |= {
            found for found in re.findall(r"gpulearn(?:\.\w+)+", text) if found in graph.modules
        }
        for package, names in re.findall(r"from (gpulearn(?:\.\w+)*) import ([\w, ]+)", text):
            namespace = package.rpartition(".")[2]
            listed = public(getattr(gl, namespace)) if namespace in namespaces() else {}
            for name in map(str.strip, names.split(",")):
                roots |= {f"{package}.{name}"} & graph.modules
                roots |= {listed[name][0]} if name in listed else set()
        for name, inner in re.findall(r"\bgl\.(\w+)(?:\.(\w+))?", text):
            if name in namespaces():
                roots |= {public(getattr(gl, name))[inner][0]} if inner else set()
            elif name in public(gl):
                roots.add(public(gl)[name][0])
    for name in ("check", "launch", "fit", "xray"):
        roots.add(public(gl)[name][0])
    reached = set(roots)
    for root in roots:
        reached |= graph.find_upstream_modules(root)
    packages = {name_of(p) for p in SOURCES if p.name == "__init__.py"}
    assert sorted(graph.modules - reached - packages) == []


# --- each thing once


def specifications():
    found = {}
    for info in pkgutil.iter_modules(gl.kernels.__path__, "gpulearn.kernels."):
        for name, thing in vars(importlib.import_module(info.name)).items():
            if isinstance(thing, Specification):
                found[id(thing)] = (name, thing)
    return [one for _, one in found.values()]


def test_each_kernel_has_one_specification():
    kernels = Counter(id(one.kernel) for one in specifications())
    assert max(kernels.values()) == 1
    missing = [name for name, kernel in package_kernels().items() if id(kernel) not in kernels]
    assert missing == []


def test_an_exercise_on_a_kernel_has_its_specification():
    known = {id(one.kernel): one for one in specifications()}
    for exercise in catalogue().values():
        if hasattr(exercise.reference, "py_func"):
            assert id(exercise.reference) in known, exercise.name


def test_facts_of_gpus_stand_in_one_table():
    names = list(GPUS)
    tables = []
    for path in SOURCES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Dict):
                keys = [k.value for k in node.keys if isinstance(k, ast.Constant)]
                if len(set(keys) & set(names)) >= 2:
                    tables.append(f"{where(path)}:{node.lineno}")
    assert tables == []


def test_every_edit_fits_its_solution():
    for exercise in catalogue().values():
        for wrong in exercise.answers.wrongs:
            assert callable(wrong.answer)
        assert all(map(callable, rights_of(exercise)))
