"""Carries the repository's address from pyproject.toml to all places that show it.

`make links` rewrites the Colab badges, the notebooks' set-up cells and the README's commands that
clone or install; a test holds that nothing is left to rewrite.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

__all__ = ["badge", "documentation", "main", "repository", "rewritten", "setup_cell"]

ROOT = Path(__file__).resolve().parents[1]
COLAB = "https://colab.research.google.com"
CLONE = re.compile(r"git clone \S+ && cd \S+")
INSTALL = re.compile(r'"gpulearn @ git\+[^"]+"')
EXTRAS = {"09_cuda_cpp": "[cpp]"}  # what Colab lacks for a notebook
BADGE = re.compile(r"\[!\[Open in Colab\]\([^)]*\)\]\([^)]*/notebooks/(\w+)\.ipynb\)")


def repository(root: Path = ROOT) -> str:
    """The repository's address under `[project.urls]`, the one place that states it."""
    return addresses(root)["Repository"]


def documentation() -> str:
    """The site's address, from the same place."""
    return addresses(ROOT)["Documentation"]


def addresses(root: Path) -> dict[str, str]:
    """What stands under `[project.urls]`."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name: str(address).rstrip("/") for name, address in project["urls"].items()}


def badge(address: str, notebook: str) -> str:
    """The Markdown of a notebook's Colab badge; `notebook` is its name without `.ipynb`."""
    path = address.removeprefix("https://github.com/")
    link = f"{COLAB}/github/{path}/blob/main/notebooks/{notebook}.ipynb"
    return f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({link})"


def setup_cell(address: str, notebook: str) -> str:
    """The set-up cell of a notebook, `notebook` being its name without `.ipynb`."""
    extra = EXTRAS.get(notebook, "")
    return (
        "# Set-up: installs gpulearn in Colab and does nothing elsewhere.\n"
        "import sys\n"
        "\n"
        'if "google.colab" in sys.modules:\n'
        f'    %pip install -q "gpulearn{extra} @ git+{address}"'
    )


def rewritten(path: Path, address: str) -> str:
    """What a notebook or Markdown file should hold."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        text = CLONE.sub(f"git clone {address} && cd {address.rpartition('/')[2]}", text)
        text = INSTALL.sub(f'"gpulearn @ git+{address}"', text)
        return BADGE.sub(lambda match: badge(address, match[1]), text)
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if "setup" in cell["metadata"].get("tags", ()):
            source = setup_cell(address, path.stem)
        elif cell["cell_type"] == "markdown":
            source = BADGE.sub(lambda match: badge(address, match[1]), source)
        cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def files(root: Path = ROOT) -> list[Path]:
    """The files that show the address."""
    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    return [root / "README.md", root / "docs" / "teaching.md", *notebooks]


def main(root: Path = ROOT) -> None:
    """Rewrite every file that shows the address."""
    address = repository(root)
    for path in files(root):
        text = rewritten(path, address)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"rewrote {path.relative_to(root)}")


if __name__ == "__main__":
    main()
