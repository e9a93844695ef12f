"""Several PTX texts as the parts of one program: what a device linker does with objects."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from simt.core.findings import Finding, Stop
from simt.ptx.parse import Module, parse

# what a text declares outside of functions, one statement a line
VARIABLE = re.compile(
    r"^[ \t]*(?P<linkage>\.\w+[ \t]+)??\.(?P<space>global|const)\b[^=;\n]*?"
    r"(?P<name>[\w$]+)(?:\[\d*\])*[ \t]*(?:=[^;]*)?;[^\n]*$",
    re.MULTILINE,
)
LINKAGE = (".visible", ".weak", ".extern", ".common")


def link(texts: Sequence[str], bases: Sequence[Mapping[str, int]]) -> Module:
    """The functions and variables of all texts; `bases` as `parse` takes them, for each text."""
    found = [list(VARIABLE.finditer(text)) for text in texts]
    linkages = [{v["name"]: (v["linkage"] or "").strip() for v in one} for one in found]
    defined = {n for one in linkages for n, linkage in one.items() if linkage != ".extern"}
    private = Counter(n for one in linkages for n, linkage in one.items() if linkage not in LINKAGE)
    module = Module()
    for number, (text, base) in enumerate(zip(texts, bases, strict=True)):
        for name, linkage in linkages[number].items():
            if linkage == ".extern" and name not in defined:
                message = f"the device variable {name} is declared extern, and no file defines it"
                raise Stop(Finding("unsupported", None, message))
            if linkage not in LINKAGE and private[name] > 1:  # each file has its own
                text = re.sub(rf"(?<![\w$%.]){re.escape(name)}(?![\w$])", f"{name}${number}", text)
        text = re.sub(r"\b__local_depot\d+", rf"\g<0>${number}", text)  # each function's
        part = parse(VARIABLE.sub(lambda v: "" if v["linkage"] == ".extern " else v[0], text), base)
        module.functions = part.functions | module.functions
        module.arrays = part.arrays | module.arrays
    return module
