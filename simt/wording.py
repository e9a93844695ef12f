"""Values and advice as a message says them."""

import re
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

ADDRESS = re.compile(r"^<.* at 0x[0-9a-fA-F]+>$", re.DOTALL)


def install_command(extra: str) -> str:
    """The one command that adds an extra, from where the project is published.

    torch comes by way of uv, which picks the build for the CPU where there is no GPU.
    """
    if extra == "torch":
        return "pip install uv && python -m uv pip install --torch-backend=auto torch cloudpickle"
    page = project_page()
    if page is None:
        return f'pip install ".[{extra}]"'
    return f'pip install "gpulearn[{extra}] @ git+{page}"'


def project_page() -> str | None:
    """Where the project is published; None for a checkout that is not installed."""
    try:
        urls = metadata("gpulearn").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return None
    page: str = dict(url.split(", ", 1) for url in urls)["Repository"]
    return page


def shorten(text: str, most: int = 60) -> str:
    """Text cut to a length that fits into a sentence."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown(value: Any) -> str:
    """A value as it can stand in a sentence: short, on one line, whatever it is."""
    kind = type(value).__name__
    is_class = isinstance(value, type)  # np.float32 has the attributes of an array
    if getattr(value, "ndim", 0) and not is_class:
        return f"an array of shape {tuple(value.shape)}"
    if getattr(type(value), "__repr__", None) is object.__repr__:
        return f"an object of type {kind}"
    try:
        text = repr(value.item() if hasattr(value, "item") and not is_class else value)
    except Exception:
        return f"an object of type {kind}"
    if ADDRESS.search(text):  # where it lies in memory says nothing
        return f"an object of type {kind}"
    return shorten(" ".join(text.split()))
