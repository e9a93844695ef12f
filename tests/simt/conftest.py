"""Without numba-cuda, what Numba's own, older CUDA target does not have is left out."""

from importlib.util import find_spec

if find_spec("numba_cuda") is None:
    collect_ignore = [
        f"test_{subject}.py"
        for subject in (
            "elementwise", "error_classes", "frozen", "language", "libdevice", "number_types",
            "overloads", "switch", "ufuncs",
        )
    ]  # fmt: skip
