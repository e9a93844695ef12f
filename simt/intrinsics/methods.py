"""Array methods: what a kernel can ask of an array by a dot, such as `a.reshape(2, 3)`."""

from typing import Any

from simt.core.memory import View
from simt.core.registry import method
from simt.core.values import Value
from simt.intrinsics.functions import type_of
from simt.machine.machine import Machine
from simt.machine.views import elements, reshaped, retyped


@method("reshape")
def reshape(m: Machine, view: View, *shape: Any) -> View:
    """`a.reshape(2, 3)` or `a.reshape((2, 3))`."""
    return reshaped(m, view, shape[0] if isinstance(shape[0], tuple) else shape)


@method("view")
def view_as(m: Machine, view: View, dtype: Any) -> View:
    """`a.view(np.int32)`: the same bytes as another type."""
    target = getattr(dtype, "dtype", None) or type_of(dtype)
    if target is None:
        raise m.stop("not-a-kernel", f"{dtype!r} is no type for .view()")
    return retyped(m, view, target)


@method("transpose")
def transpose(m: Machine, view: View) -> View:
    """`a.transpose()`, which is `a.T`."""
    return view.transposed()


@method("item")
def item(m: Machine, view: View) -> Any:
    """`a.item()`: the only element."""
    return m.load(view, (0,) * view.ndim)


@method("fill")
def fill(m: Machine, view: View, value: Value) -> None:
    """`a.fill(value)`."""
    for place in elements(m, view):
        m.store(view, place, value)


NEW = "makes a new array, for which a GPU thread has no memory: {}"
ALTERNATIVES = {
    "copy": "copy its elements into a cuda.local.array or a cuda.shared.array",
    "astype": "convert single elements, such as np.float32(a[i])",
    "flatten": ".reshape(-1) looks at the same memory as one dimension",
    "ravel": ".reshape(-1) looks at the same memory as one dimension",
}


def _register_refusal(name: str, instead: str) -> None:
    @method(name)
    def refuse(m: Machine, view: View, *args: Any) -> Any:
        message = f"{view.name}.{name}() {NEW.format(instead)}"
        raise m.stop("not-a-kernel", message, array=view.name)


for _name, _instead in ALTERNATIVES.items():
    _register_refusal(_name, _instead)
