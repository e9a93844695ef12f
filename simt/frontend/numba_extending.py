"""What a program has registered by `numba.cuda.extending`, as Numba keeps it."""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from simt.device import numba_cuda

# what gives the body for types, and whether it is asked for literal ones first
Chooser = tuple[Callable[..., Any], bool]


def overload_bodies(function: Callable[..., Any]) -> list[Chooser]:
    """What chooses the body of a function for types: its overloads, CUDA's own first."""
    kind = _type_of(function)
    templates = [t for t in getattr(kind, "templates", ()) if hasattr(t, "_overload_func")]
    templates.sort(key=lambda t: t.metadata.get("target") != "cuda")
    return [(t._overload_func, t.prefer_literal) for t in templates]


def member_bodies(kind: Any, name: str) -> list[Chooser]:
    """What chooses the body of an attribute or method that was added to a Numba type."""
    attrs = [t for t in _typing()._get_attribute_templates(kind) if getattr(t, "_attr", "") == name]
    return [(t._overload_func, t.prefer_literal) for t in attrs if hasattr(t, "_overload_func")]


def has_type(thing: Any) -> bool:
    """Whether Numba's CUDA target knows an object that a kernel names."""
    return _type_of(thing) is not None


def _type_of(thing: Any) -> Any:
    try:
        return _typing().resolve_value_type(thing)
    except Exception:  # Numba knows nothing of it
        return None


def _typing() -> Any:
    """What Numba's CUDA target knows of types, with all that was registered by now."""
    numba_cuda.load()
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()
    return context


@contextlib.contextmanager
def overloads_led_by(lead: Callable[..., Any]) -> Iterator[None]:
    """In here Numba compiles `lead(body)` for each body that a program's overloads choose."""
    with contextlib.ExitStack() as stack:
        for name in ("numba.cuda.typing.templates", "numba.core.typing.templates"):
            with contextlib.suppress(ImportError):  # Numba's own older target has one alone
                templates = importlib.import_module(name)
                stack.enter_context(_led(templates._OverloadFunctionTemplate, lead))
        yield


@contextlib.contextmanager
def _led(home: Any, lead: Callable[..., Any]) -> Iterator[None]:
    decorator = home._get_jit_decorator

    def led(self: Any) -> Any:
        jit = decorator(self)
        module = str(self._overload_func.__module__)
        if module.partition(".")[0] in ("numba", "numba_cuda") and ".tests." not in module:
            return jit
        return lambda **options: lambda body: jit(**options)(lead(body))

    home._get_jit_decorator = led
    try:
        yield
    finally:
        home._get_jit_decorator = decorator
