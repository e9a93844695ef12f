"""What no kernel can have: what it is called, and what to write instead."""

import ast
import difflib
import math
import types
from typing import Any

from simt.core.registry import INTRINSICS

REFUSED: dict[type[ast.AST], str] = {
    ast.List: "a list", ast.ListComp: "a list comprehension", ast.Dict: "a dict",
    ast.DictComp: "a dict comprehension", ast.Set: "a set", ast.SetComp: "a set comprehension",
    ast.GeneratorExp: "a generator expression", ast.JoinedStr: "an f-string", ast.Await: "await",
    ast.Yield: "yield", ast.YieldFrom: "yield from", ast.Try: "try", ast.TryStar: "try",
    ast.Match: "a match on the parts of sequences, mappings or objects", ast.With: "with",
    ast.ClassDef: "a class", ast.AsyncFunctionDef: "an async function", ast.Import: "an import",
    ast.ImportFrom: "an import",
}  # fmt: skip
ALTERNATIVES: dict[type[ast.AST], str] = {
    ast.Try: "it catches no exception, test with if before",
    ast.TryStar: "it catches no exception, test with if before",
    ast.JoinedStr: "print() takes several values, with commas between",
    ast.Match: "compare them one by one with if",
    ast.List: "a tuple holds a few numbers, a cuda.local.array many",
    ast.ListComp: "fill a cuda.local.array in a for loop",
    ast.Import: "import at the top of the file",
    ast.ImportFrom: "import at the top of the file",
    ast.Starred: "take a tuple apart by its numbers, such as t[0] and t[1:]",
}


def meant(base: Any, node: ast.Attribute) -> str:
    """The name in `base` that a misspelt one is nearest to, as part of a sentence."""
    names = {name.lower(): name for name in dir(base) if not name.startswith("_")}
    matches = difflib.get_close_matches(node.attr.lower(), names, n=1, cutoff=0.75)
    return f"; did you mean {ast.unparse(node.value)}.{names[matches[0]]}?" if matches else ""


def undefined(name: str) -> str:
    """The sentence for a name that stands for nothing."""
    home = "cuda" if name in INTRINSICS else "math" if hasattr(math, name) else ""
    return f"name '{name}' is not defined" + (f"; did you mean {home}.{name}?" if home else "")


_NEW_ARRAYS = {"zeros", "ones", "empty", "full", "array", "arange", "zeros_like", "empty_like"}


def instead(function: object, name: str) -> str:
    """What to do instead of calling a function that no kernel can call."""
    home = str(getattr(function, "__module__", ""))
    if home.startswith("numpy"):
        if name.rpartition(".")[2] in _NEW_ARRAYS:
            return "; a thread's own memory is a cuda.local.array, a block's a cuda.shared.array"
        return ": it works on whole arrays, and a thread computes with single elements"
    if isinstance(function, types.FunctionType):
        return f"; decorate {name} with @cuda.jit(device=True)"
    if "bfloat16" in name:
        return ": the SIMT machine has float16, float32 and float64; float32 holds each bfloat16"
    if isinstance(function, type):
        return ": a thread makes no objects; keep their parts in variables or in a tuple"
    return ": a thread has numbers, tuples and arrays alone; call it on the host"
