"""The SIMT machine's observers: the machine knows none by name. (Its layers: pyproject.toml.)"""

import ast
from pathlib import Path

import gpulearn.simt

HOME = Path(gpulearn.simt.__file__).parent


def imported(file: Path) -> set[str]:
    """What a module imports, inside functions and for annotations too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return {name.removeprefix("gpulearn.") for name in found if name.startswith("gpulearn.")}


def test_the_machine_knows_no_observer_by_name() -> None:
    known = {
        name
        for layer in ("intrinsics", "machine")
        for file in (HOME / layer).glob("*.py")
        for name in imported(file)
        if name.startswith("simt.observers.")
    }
    assert {name.split(".")[2] for name in known} == {"observer"}
