"""Kernels that notebooks 04 and 05 write out and the package does not have, as they stand there.

Each with its specification, for the tests beside this file; what is right about some of them is
what they do wrong.
"""

from __future__ import annotations

import ast
import json
import linecache
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.copies import COPY_BY_ROWS, COPY_STRIDED
from gpulearn.kernels.specification import Specification, blocks_along
from gpulearn.kernels.transpose import TRANSPOSE_TILED
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
BEFORE = "import math\nimport numpy as np\nfrom gpulearn import cuda\n"


def defined_in(notebook: str) -> dict[str, ast.FunctionDef]:
    """The kernels that a notebook writes out for its readers, by name; not the exercises' stubs."""
    return {node.name: node for node in _nodes(notebook) if isinstance(node, ast.FunctionDef)}


def _nodes(notebook: str) -> list[ast.stmt]:
    """Its kernels, and its constants, whose names are in capitals."""
    nodes: list[ast.stmt] = []
    for cell in json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code" or {"exercise", "setup"} & set(
            cell["metadata"].get("tags", ())
        ):
            continue
        for node in ast.parse("".join(cell["source"])).body:
            match node:
                case ast.FunctionDef(decorator_list=[_, *_]):
                    nodes.append(node)
                case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                    nodes.append(node)
    return nodes


def kernels_of(notebook: str) -> dict[str, Any]:
    """What a notebook has defined after its cells with kernels and constants."""
    source = BEFORE + "\n".join(map(ast.unparse, _nodes(notebook)))
    file = f"<kernels of {notebook}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {"__name__": f"tests.kernels.notebook_{notebook[:2]}"}
    exec(compile(source, file, "exec"), names)
    return names


COALESCING = kernels_of("04_memory_coalescing")
SHARED_MEMORY = kernels_of("05_shared_memory_and_barriers")


def _pixels(colors: Any, out: Any, axis: int) -> tuple[Any]:
    return (colors.mean(axis=axis, dtype=np.float64).astype(out.dtype),)


def _places(warp: Any, lane: Any, block: tuple[int, int] = (32, 8)) -> tuple[Any, Any]:
    y, x = np.ogrid[: warp.shape[0], : warp.shape[1]]
    thread = x % block[0] + y % block[1] * block[0]
    return thread // 32, thread % 32


def _striped(image: Any, out: Any, width: int) -> tuple[Any]:
    dark = np.arange(image.shape[1]) // width % 2 == 0
    return (np.where(dark, image / 2, 1 - image),)


ROW_MAXIMA = replace(
    COLUMN_SUMS,
    kernel=COALESCING["row_maxima"],
    reference=lambda matrix, out: (matrix.max(axis=1),),
)
COLUMN_MAXIMA = replace(
    COLUMN_SUMS,
    kernel=COALESCING["column_maxima"],
    reference=lambda matrix, out: (matrix.max(axis=0),),
)
COPY_GATHER = replace(
    COPY_STRIDED,
    kernel=COALESCING["copy_gather"],
    reference=lambda source, index, target: (source[index],),
    grid=lambda source, index, target, block: blocks_along(target.size, block),
    outputs=(2,),
)
COPY_BY_COLUMNS = replace(
    COPY_BY_ROWS,
    kernel=COALESCING["copy_by_columns"],
    grid=lambda image, out, block: blocks_along(out.shape, block),
)
CUT_OUT = replace(
    COPY_BY_ROWS,
    kernel=COALESCING["cut_out"],
    reference=lambda image, out: (image[176:, 208:][: out.shape[0], : out.shape[1]],),
)
EVERY_EIGHTH = replace(
    COPY_BY_ROWS,
    kernel=COALESCING["every_eighth"],
    reference=lambda image, out: (image[::8, ::8][: out.shape[0], : out.shape[1]],),
)
GRAY_INTERLEAVED = replace(
    COPY_BY_ROWS,
    kernel=COALESCING["gray_interleaved"],
    reference=lambda colors, out: _pixels(colors, out, 2),
)
GRAY_PLANES = replace(
    COPY_BY_ROWS,
    kernel=COALESCING["gray_planes"],
    reference=lambda colors, out: _pixels(colors, out, 0),
)
WARPS_AND_LANES = Specification(
    COALESCING["warps_and_lanes"],
    _places,
    grid=lambda warp, lane, block: blocks_along(warp.shape[::-1], block),
    block=(32, 8),
    outputs=(0, 1),
)
STRIPES = Specification(
    COALESCING["stripes"],
    _striped,
    grid=lambda image, out, width, block: blocks_along(image.shape[::-1], block),
    block=(32, 8),
    outputs=(1,),
)
TRANSPOSE_BY_TILE, TRANSPOSE_WAITS_FIRST, TRANSPOSE_GUARDED, TRANSPOSE_OVERFLOWS = (
    replace(TRANSPOSE_TILED, kernel=SHARED_MEMORY[name])
    for name in (
        "transpose_by_tile", "transpose_waits_first", "transpose_guarded", "transpose_overflows"
    )
)  # fmt: skip
REVERSE_HASTILY, REVERSE_IN_WARP = (
    Specification(
        SHARED_MEMORY[name], lambda a: (a[::-1],), grid=lambda a, block: 1, block=32, updated=(0,)
    )
    for name in ("reverse_hastily", "reverse_in_warp")
)
EDGES = Specification(
    SHARED_MEMORY["edges"],
    lambda image, out: (np.abs(np.diff(image, axis=1)),),
    grid=lambda image, out, block: (blocks_along(out.shape[1], block), len(image)),
    block=BLOCK,
    outputs=(1,),
)
