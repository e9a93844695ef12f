"""The frameworks of the extra `frameworks` that are installed here."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from gpulearn import require

# what is imported → its distributions, one of which brings it
FRAMEWORKS = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-macos"),
    "jax": ("jax",),
    "triton": ("triton",),  # for notebook B
}


def missing(frameworks: Sequence[str] = ("tensorflow", "jax")) -> str:
    """Say in one sentence which frameworks are not installed and what brings them; "" if none.

    Nothing is imported: TensorFlow alone would take ten seconds.

    >>> missing([])
    ''
    """
    absent = [
        name
        for name in frameworks
        if importlib.util.find_spec(require.choice("framework", name, FRAMEWORKS)) is None
    ]
    if not absent:
        return ""
    are = "is" if len(absent) == 1 else "are"
    return (
        f"{' and '.join(absent)} {are} not installed: {require.install_command('frameworks')} "
        f"brings {'it' if len(absent) == 1 else 'them'}."
    )


def versions() -> dict[str, str]:
    """The version of each framework that is installed, torch included."""
    installed: dict[str, str] = {}
    for name, distributions in {"torch": ("torch",), **FRAMEWORKS}.items():
        for version in filter(None, map(require.installed, distributions)):
            installed.setdefault(name, version)
    return installed
