from typing import Any

from . import errors as errors
from .core.findings import SimtWarning as SimtWarning
from .cpp.module import cpp as cpp
from .host import api as cuda
from .host.settings import block_order as block_order
from .host.settings import keep_going as keep_going
from .host.settings import unchecked as unchecked
from .host.switch import replace_numba_cuda as replace_numba_cuda
from .host.xray import xray as xray

__all__ = ["cuda"]  # the other names are those of their modules

internal: dict[str, str]
stored_ptx: list[str]

def load_ipython_extension(shell: Any) -> None: ...
