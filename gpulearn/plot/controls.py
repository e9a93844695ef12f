"""Controls that several explorers have: a slider of whole numbers, a GPU and its arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpulearn import require
from gpulearn.perf import gpus

__all__ = ["dtypes", "gpu_and_dtype", "slider"]


def slider(name: str, value: int, least: int, most: int) -> Any:
    """A slider of whole numbers from `least` to `most`; the arrow keys move it."""
    widgets = require.package("ipywidgets", "An interactive figure")
    return widgets.IntSlider(value=min(value, most), min=least, max=most, description=name)


def dtypes(gpu: str) -> Sequence[str]:
    """The arithmetic that a GPU offers, widest first.

    Raises:
        BadInput: the GPU is not known.

    >>> dtypes("T4")
    ['float64', 'float32', 'float16']
    """
    return [dtype for dtype in gpus.BYTES if dtype in gpus.gpu_spec(gpu).peak]


def gpu_and_dtype(
    names: Sequence[str], value: str, offered: Callable[[str], Sequence[str]] = dtypes
) -> dict[str, Any]:
    """Two lists, "gpu" and "dtype": the second offers what the GPU in the first has.

    Args:
        names: the GPUs to choose from.
        value: the one that is chosen first.
        offered: a GPU's name → its arithmetic, float32 included.
    """
    widgets = require.package("ipywidgets", "An interactive figure")
    gpu = widgets.Dropdown(options=list(names), value=value, description="GPU")
    dtype = widgets.Dropdown(options=offered(value), value="float32", description="arithmetic")

    def offer(change: object) -> None:
        kept, now = dtype.value, offered(gpu.value)
        dtype.options = now
        dtype.value = kept if kept in now else "float32"

    gpu.observe(offer, names="value")
    return {"gpu": gpu, "dtype": dtype}
