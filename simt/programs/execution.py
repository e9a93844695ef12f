"""A script as `__main__`, or a notebook cell by cell, in this process."""

import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import simt
from simt.core.findings import Finding
from simt.errors import BadInput, MissingPackage
from simt.host.work.copies import unread
from simt.host.work.queue import work_queue
from simt.programs.launches import Launches
from simt.wording import install_command, shown


def run_script(script: Path, arguments: list[str], launches: Launches) -> int:
    """The exit status of a script that has its own `argv`, with its folder on the path."""
    sys.argv[:] = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
        work_queue.finish()  # what nobody waited for may be wrong, too
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        _print_traceback(traceback.TracebackException.from_exception(error))
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    if not launches.errors:
        for file, line, kernel, name in dict.fromkeys(unread.values()):
            message = (
                f"{kernel} writes {name}, a device array, and nobody reads it afterwards: "
                "copy_to_host() brings it back"
            )
            launches.add(file, Finding("no-effect", line, message, array=name))
    return 0


def _print_traceback(error: traceback.TracebackException) -> None:
    """Prints a traceback without the frames of this package."""
    ours = (*simt.internal.values(), "<frozen runpy>", str(runpy.__file__))
    chain: list[traceback.TracebackException | None] = [error]
    for link in chain:
        if link is not None:
            link.stack[:] = [f for f in link.stack if not f.filename.startswith(ours)]
            chain += [link.__cause__, link.__context__]
    print("".join(error.format()), end="", file=sys.stderr)


def run_notebook(notebook: Path, allow_errors: bool) -> int:
    """0 if every cell of a notebook has run, in its folder; else 1, at the first that fails.

    With `allow_errors` it goes on after a cell that fails, of which it only tells.
    """
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        raise MissingPackage(
            f"a notebook needs IPython, which is not installed: {install_command('lab')}"
        ) from None

    class Shell(InteractiveShell):  # type: ignore[misc,unused-ignore]
        def enable_gui(self, gui: Any = None) -> None:
            """Windows have no place here."""

    cells = _cells(notebook)
    shell = Shell.instance()
    os.environ.setdefault("MPLBACKEND", "agg")
    others = []
    sys.path.insert(0, str(notebook.resolve().parent))
    home = Path.cwd()
    os.chdir(notebook.resolve().parent)
    try:
        for number, (source, tags) in cells.items():
            name = f"{notebook.name}, cell {number}"
            shell.compile.get_code_name = lambda *_, name=name: name
            result = shell.run_cell(source, store_history=True)
            if source.startswith("!python"):
                others.append(str(number))
            if not result.success and "raises-exception" not in tags:
                error = result.error_before_exec or result.error_in_exec
                print(f"{name} failed: {type(error).__name__}: {error}", file=sys.stderr)
                if not (allow_errors and isinstance(error, Exception)):
                    return 1
        work_queue.finish()
    finally:
        os.chdir(home)
        Shell.clear_instance()
        if others:
            print(
                f"{notebook.name}, cell {', '.join(others)}: !python starts another process, "
                "whose kernels are not on the SIMT machine: write %run instead",
                file=sys.stderr,
            )
    return 0


def _cells(notebook: Path) -> dict[int, tuple[str, list[str]]]:
    """Number of each cell with code → its source and tags."""
    try:
        written = json.loads(notebook.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise BadInput(f"{notebook.name} is not UTF-8 text: save it as UTF-8.") from None
    except (ValueError, RecursionError):  # not JSON, or nested too deeply for it
        raise BadInput(
            f"{notebook.name} is not a notebook, which is a JSON file: save it again in Jupyter."
        ) from None
    try:
        if "worksheets" in written:
            raise BadInput(
                f"{notebook.name} has the notebook format {written['nbformat']}: convert it to "
                f"format 4 with `jupyter nbconvert --to notebook {notebook.name}`."
            )
        described = written.get("metadata", {})
        language = described.get("kernelspec", {}).get("language") or described.get(
            "language_info", {}
        ).get("name", "python")
        if language.lower() not in ("python", "ipython"):
            raise BadInput(
                f"{notebook.name} is written in {shown(language)}: give a notebook in Python."
            )
        return {
            number: ("".join(cell["source"]), cell.get("metadata", {}).get("tags", []))
            for number, cell in enumerate(written["cells"], 1)
            if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
        }
    except (KeyError, TypeError, AttributeError):
        raise BadInput(
            f"{notebook.name} is JSON, but its cells are not those of a notebook: save it again "
            "in Jupyter."
        ) from None
