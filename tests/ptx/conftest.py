"""The compiler that these tests need is asked for as the kernels' tests ask for it."""

from ..kernels.conftest import _compiler

__all__ = ["_compiler"]
