"""The SIMT machine's folders are layers: a module uses its own layer and those below."""

import ast
from pathlib import Path

import gpulearn.simt

HOME = Path(gpulearn.simt.__file__).parent
LAYERS = ["host", "report", "frontend", "intrinsics", "machine", "observers", "core"]
GROUND = {"errors", "require", "device"}  # what lies below the machine


def imported(file: Path) -> set[str]:
    """What a module imports, inside functions and for annotations too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return {name.removeprefix("gpulearn.") for name in found if name.startswith("gpulearn.")}


def test_arrows_point_down() -> None:
    files = [(layer, file) for layer in LAYERS for file in sorted((HOME / layer).glob("*.py"))]
    assert {layer for layer, _ in files} == {p.name for p in HOME.iterdir() if p.suffix == ""} - {
        "__pycache__"
    }
    wrong = []
    pairs = [(layer, file, name) for layer, file in files for name in imported(file)]
    for layer, file, name in pairs:
        package, _, rest = name.partition(".")
        if package == "simt":
            up = LAYERS.index(rest.partition(".")[0]) < LAYERS.index(layer)
        else:
            up = package not in GROUND
        if up:
            wrong.append(f"{layer}/{file.name} imports {name}")
    assert not wrong


def test_the_machine_knows_no_observer_by_name() -> None:
    known = {
        name
        for layer in ("intrinsics", "machine")
        for file in (HOME / layer).glob("*.py")
        for name in imported(file)
        if name.startswith("simt.observers.")
    }
    assert {name.split(".")[2] for name in known} == {"observer"}
