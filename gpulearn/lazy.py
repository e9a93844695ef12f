"""Lazy public names, as the machine has them: see `simt.lazy`."""

from collections.abc import Callable
from typing import Any

from simt import lazy


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`simt.lazy.attach`, whose names say what to install where their package is missing."""
    load, names = lazy.attach(package, file)

    def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the package's
        try:
            return load(name)
        except ModuleNotFoundError as error:
            from gpulearn import require  # not above: `import gpulearn` is cheap

            if error.name not in require.OPTIONAL:
                raise
            public = f"{package}.{name}".replace("gpulearn.", "gl.", 1)
            raise require.missing(error.name, public) from None

    return __getattr__, names
