"""The SIMT machine: ordinary CUDA kernels, Numba's or in C++, for all threads at once on any CPU.

`import simt` costs next to nothing: each name is loaded when it is first used. `__init__.pyi` lists
the public ones; `README.md` says what they do, what is checked, and how the folders rest on each
other.
"""

import os
from importlib import import_module
from typing import Any

from simt.lazy import attach

# files with the PTX of known sources in CUDA C++, for where no compiler is
stored_ptx: list[str] = []

# packages that are machinery, each with its folder: their frames are no program's, and they meet
# Numba itself where a program meets the machine
internal = {__name__: os.path.dirname(__file__)}  # noqa: PTH120 - pathlib takes longer to load

__getattr__, __dir__ = attach(__name__, __file__)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext simt`: from then on a cell that begins with `%%cuda` is a CUDA program."""
    magic = import_module("simt.programs.magic")  # loaded when it is used, as all names are
    shell.register_magic_function(magic.run_cell, "cell", "cuda")
