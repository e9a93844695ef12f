"""Keeps the PTX of the notebooks' C++ kernels, which travels with the package.

`python -m tools.stored_ptx` compiles them anew with NVRTC; a test holds that none is missing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gpulearn.errors import KernelError
from gpulearn_lessons.broken_tutorials.product_program import kernel_part
from simt.cpp.compiler import compile_to_ptx
from simt.cpp.stored import key

__all__ = ["Compilation", "compilations", "entry", "main", "release"]

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
FILE = ROOT / "gpulearn_lessons" / "cuda_cpp" / "stored.json"
MAGIC = re.compile(r"^(\s*)[!%].*$", re.MULTILINE)


class Compilation(NamedTuple):
    """What the compiler is given."""

    source: str
    options: tuple[str, ...] = ()


def compilations(folder: Path = NOTEBOOKS) -> Iterator[Compilation]:
    """What the notebooks compile: the texts in their calls of `gl.cpp`."""
    for path in sorted(folder.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        trees = [ast.parse(MAGIC.sub(r"\1pass", source)) for source in sources]
        yield from of_cells([node for tree in trees for node in ast.walk(tree)])


def of_cells(nodes: list[ast.AST]) -> Iterator[Compilation]:
    """The compilations in the cells of one notebook; names of texts stand for them.

    Of a whole program its kernels are one: what is launched where no host part can be compiled.
    """
    texts: dict[str, Any] = {}
    calls: list[tuple[ast.expr, ...]] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Constant(value=str(text))):
                texts[name] = text
            case ast.Call(func=ast.Attribute(value=ast.Name("gl"), attr="cpp"), args=passed):
                calls.append(tuple(passed))
            case ast.Call(func=ast.Name("run_product"), args=[ast.Name(name), *_]) if name in texts:
                calls.append((ast.Constant(kernel_part(texts[name])),))
    for args in calls:
        values = [texts[a.id] if isinstance(a, ast.Name) else ast.literal_eval(a) for a in args]
        source, *more = values
        yield Compilation(source, tuple(more[0]) if more else ())


def entry(compilation: Compilation) -> dict[str, Any]:
    """What the compiler makes of a source, as it is kept: without the folder of this computer."""
    try:
        ptx, lowered = compile_to_ptx(*compilation)
    except KernelError as error:
        return {"refused": str(error)}
    ptx = re.sub(r'(\.file\s+\d+ ")[^"]*?([^/\\"]+")', r"\1\2", ptx)
    lines = (line.rstrip() for line in ptx.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return {"ptx": text, "lowered": lowered}


def release() -> str:
    """The compiler's own version, as it writes it into its PTX."""
    match = re.search(r"release [^\n]*", compile_to_ptx("__global__ void f() {}")[0])
    return match[0] if match else ""


def main() -> None:
    """Write the store anew."""
    entries = {key(*compilation): entry(compilation) for compilation in compilations()}
    content = {"compiler": release(), "entries": dict(sorted(entries.items()))}
    FILE.write_text(json.dumps(content, indent=0) + "\n", encoding="utf-8")
    print(f"{len(entries)} compilations, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
