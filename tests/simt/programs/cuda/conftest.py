"""The program of a module of tests, compiled once."""

import pytest

from simt.programs.cuda.run import CudaProgram


@pytest.fixture(scope="module")
def program(request):
    """The program in FILE of a module of tests, compiled with its OPTIONS."""
    options = getattr(request.module, "OPTIONS", ())
    with CudaProgram(request.module.FILE, options=options) as made:
        yield made
