"""`gl.to_torchrun(fn, "train.py")`: a function of a notebook as a script for many machines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.export.imports import of_notebook
from gpulearn.parallel.export.parts import Parts
from gpulearn.parallel.export.source import returns_something, source_of, unwrapped
from gpulearn.parallel.process_group import gather_results, init_process_group
from gpulearn.require import shown

RETURNED = """\
    for number, result in enumerate(results):  # on rank 0; the others have none
        print(f"rank {number} returned {result}")"""


def to_torchrun(
    fn: Callable[..., Any],
    path: str | Path,
    *args: Any,
    overwrite: bool = False,
    timeout: float = 30.0,
) -> Path:
    """Write a notebook's function out as a script that plain python and torchrun run.

    The script holds the function and what it uses of the notebook: imports, constants, functions
    and classes, and for other values the line that made them, if that makes the same again. Its
    main block joins the ranks, calls `fn(*args)` on each as `gl.launch` does, and prints on rank
    0 what each returned.

    Args:
        fn: what every rank runs; defined with `def`, without variables of a function around it.
        path: the file to write, ending in .py.
        args: the function's arguments: plain values, functions or classes.
        overwrite: whether a file that is there may be replaced.
        timeout: seconds that a rank waits for another.

    Returns:
        The path.

    >>> import tempfile
    >>> from statistics import fmean
    >>> file = to_torchrun(fmean, Path(tempfile.mkdtemp()) / "mean.py", [1, 2])
    Written: ...mean.py. In a terminal, as one process or as two ranks:
      python ...mean.py
      torchrun --nproc-per-node 2 ...mean.py
    >>> print("".join(file.read_text().splitlines(True)[-5:]))
    if __name__ == "__main__":
        with init_process_group():
            results = gather_results(fmean([1, 2]))
        for number, result in enumerate(results):  # on rank 0; the others have none
            print(f"rank {number} returned {result}")
    """
    require.above_zero("timeout", timeout)
    if not callable(fn) or not hasattr(fn, "__name__") or inspect.ismethod(fn):
        raise BadInput(
            f"fn is {shown(fn)}: give a function that is defined with def, and its arguments after "
            f"the path."
        )
    if isinstance(fn, type) and of_notebook(fn):
        raise BadInput(f"fn is the class {fn.__name__}: give a function that makes and uses one.")
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn):
        kind = "generator" if inspect.isgeneratorfunction(fn) else "coroutine"
        raise BadInput(
            f"fn is {fn.__name__}, whose call only makes a {kind} and runs nothing of it: give a "
            f"function that runs it to its end."
        )
    file = _file(path, overwrite)
    text = _script(fn, args, file.name, timeout)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror or error}.") from None
    print(
        f"Written: {file}. In a terminal, as one process or as two ranks:\n"
        f"  python {file}\n"
        f"  torchrun --nproc-per-node 2 {file}"
    )
    return file


def _file(path: object, overwrite: bool) -> Path:
    if not isinstance(path, str | Path) or Path(path).suffix != ".py":
        raise BadInput(f"path is {shown(path)}: give the name of a script, such as 'train.py'.")
    file = Path(path)
    if not file.absolute().parent.is_dir():
        raise BadInput(f"path is {str(path)!r}, and there is no folder {str(file.parent)!r}.")
    if file.exists() and not overwrite:
        raise BadInput(f"{str(path)!r} is there already: give overwrite=True to replace it.")
    return file


def _script(fn: Callable[..., Any], args: tuple[Any, ...], name: str, timeout: float) -> str:
    parts = Parts(fn)
    main = _main(parts, fn, args, timeout)
    summary = str(fn.__doc__ or "").strip().partition("\n")[0].rstrip("\\").replace('"""', "'''")
    head = (
        f'"""{summary or f"Runs {fn.__name__} on every rank."}\n\n'
        f"Start it as one process, or as two ranks:\n\n"
        f"    python {name}\n"
        f"    torchrun --nproc-per-node 2 {name}\n"
        f'"""'
    )
    future = "from __future__ import annotations" if parts.future else ""
    blocks = [head, future, parts.imports.text(), "\n".join([*parts.constants(), *parts.settings])]
    top = "\n\n".join(block for block in blocks if block)
    text = "\n\n\n".join([top, *parts.definitions, main]) + "\n"
    compile(text, name, "exec", dont_inherit=True)
    return text


def _main(parts: Parts, fn: Callable[..., Any], args: tuple[Any, ...], timeout: float) -> str:
    """The block at the end: join, call, and show what came of it."""
    function = parts.use(fn.__name__, fn, "fn")
    arguments = [parts.argument(number, value, function) for number, value in enumerate(args, 1)]
    call = f"{function}({', '.join(arguments)})"
    join = parts.use("init_process_group", init_process_group, function)
    joined = f"{join}()" if timeout == 30.0 else f"{join}(timeout={timeout!r})"
    lines = ['if __name__ == "__main__":', f"    with {joined}:"]
    source = source_of(fn) if hasattr(unwrapped(fn), "__code__") else None
    if source is not None and not returns_something(source):
        return "\n".join([*lines, f"        {call}"])
    gather = parts.use("gather_results", gather_results, function)
    return "\n".join([*lines, f"        results = {gather}({call})", RETURNED])
