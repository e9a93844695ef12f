"""The one switch: `numba.cuda` where there is a usable GPU, the SIMT machine elsewhere.

`from gpulearn import cuda` is all a notebook ever writes. With a GPU the name stands for
`numba.cuda` itself; without one, for the SIMT machine, `simt.host.api`.
`GPULEARN_DEVICE=cpu` forces the machine.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from simt.device import numba_cuda, selection

__all__: list[str] = []

if TYPE_CHECKING:
    jit: Any  # stated, since a checker that goes round a cycle of imports overlooks __getattr__

if selection.current().kind == "gpu":
    _module = numba_cuda.load()
else:
    _module = importlib.import_module("simt.host.api")


def __getattr__(name: str) -> Any:
    return getattr(_module, name)


# from here on the name stands for the module itself, for `import` and for `getattr` alike
sys.modules[__name__] = _module
