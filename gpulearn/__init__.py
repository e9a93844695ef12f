"""Tested helpers behind the gpulearn notebooks.

`import gpulearn as gl` costs next to nothing: each name is loaded when it is first used, so
neither torch nor numba nor matplotlib is imported here. `__init__.pyi` lists the everyday
names and the namespaces (`gl.plot`, `gl.parallel`, …), which have such a list each.
"""

import os

import simt
from gpulearn.lazy import attach
from simt import load_ipython_extension as load_ipython_extension

__version__ = "0.1.0"
FOLDER = os.path.dirname(__file__)  # noqa: PTH120 - pathlib takes longer to load
simt.internal[__name__] = FOLDER
simt.stored_ptx.append(f"{FOLDER}/../gpulearn_lessons/cuda_cpp/stored.json")
__getattr__, __dir__ = attach(__name__, __file__)
