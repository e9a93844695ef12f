"""PTX text made plain before it is parsed: what compilers rarely write and people do.

Registers and labels get one name per scope, registers of several parts become their parts, and
functions that take and return registers take and return parameters instead.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

HEAD = re.compile(
    r"(?P<linkage>(?:\.(?:visible|weak|extern)\s+)*)\.(?P<kind>entry|func)\s*"
    r"(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*(?:\((?P<params>[^)]*)\))?"
    r"(?P<more>[^;{]*)(?P<end>[;{])"
)
PARAM = re.compile(
    r"\.(?:param|reg)\s*(?:\.align\s+(?P<align>\d+)\s+)?(?P<vector>\.v\d\s*)?"
    r"\.(?P<kind>\w+)\s+(?:\.ptr\s+[^,]*?)?(?P<name>%?[\w$]+)(?:\[(?P<count>\d+)\])?\s*(?:,|$)"
)
PARTS = "xyzw"
NAME = re.compile(r"(%?[\w$]+)(?:\.([xyzw])\b)?")
Scope = dict[str, tuple[str, int]]  # a name as it is written: as it is kept, and its parts


def closing(text: str, at: int) -> int:
    """Where the brace that was opened before `at` is closed."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[at:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return at + brace.start()
    return len(text)


# --- registers that are passed to functions


def passing_parameters(text: str) -> str:
    """A text whose functions pass parameters: `name$` stands for what was the register `name`."""
    heads = [h for h in HEAD.finditer(text) if ".reg" in f"{h['results']}{h['params']}"]
    for head in reversed(heads):
        if head["end"] == ";":
            continue
        taken, given = (list(PARAM.finditer(head[g] or "")) for g in ("params", "results"))
        words = re.sub(r"\.reg\b(.*?)(%?[\w$]+)(?=\s*[,)])", r".param\1\2$", head[0])
        stop = closing(text, head.end())
        stores = "".join(f"\\1st.param{_kind(p)} [{p['name']}$], {p['name']}; " for p in given)
        body = text[head.end() : stop]
        body = re.sub(r"(@!?%?[\w$]+\s+|)\b(ret(?:\.uni)?\s*;)", rf"{stores}\1\2", body)
        loads = "".join(f"ld.param{_kind(p)} {p['name']}, [{p['name']}$]; " for p in taken)
        registers = "".join(f".reg {_kind(p)} {p['name']}; " for p in (*taken, *given))
        text = text[: head.start()] + words + registers + loads + body + text[stop:]
    for head in {h["name"]: h for h in heads}.values():
        text = _calls(text, head)
    return text


def _kind(p: re.Match[str]) -> str:
    return f"{(p['vector'] or '').strip()}.{p['kind']}"


def _calls(text: str, head: re.Match[str]) -> str:
    """A text with the calls of one such function rewritten."""

    def call(found: re.Match[str]) -> str:
        moves, places = [], []
        for side, group, form in (("params", 2, "st.param{0} [{1}], {2};"),
                                  ("results", 1, "ld.param{0} {2}, [{1}];")):  # fmt: skip
            values = re.findall(r"[^,\s]+", found[group] or "")
            places.append([f"{head['name']}${side}{k}" for k in range(len(values))])
            params = PARAM.finditer(head[side] or "")
            three = zip(map(_kind, params), places[-1], values, strict=True)
            moves.append("".join(form.format(*each) for each in three))
        taken, given = (f"({', '.join(p)})" if p else "" for p in places)
        first, last = given and f"{given}, ", taken and f", {taken}"
        return f"{moves[0]} call {first}{head['name']}{last}; {moves[1]}"

    pattern = rf"call(?:\.uni)?\s*(?:\(([^)]*)\)\s*,)?\s*{re.escape(head['name'])}\s*"
    return re.sub(pattern + r"(?:,\s*\(([^)]*)\))?\s*;", call, text)


# --- scopes


def statements(body: str) -> Iterator[str]:
    """Labels (with their colon), statements and the braces of scopes, in order."""
    for chunk in re.split(r"(;|[{}])", re.sub(r"\{([^{};]*)\}", r"<\1>", body)):
        rest = chunk.strip()
        while label := re.match(r"([\w$]+):(?!:)\s*", rest):
            yield label[1] + ":"
            rest = rest[label.end() :]
        if rest and rest != ";":
            yield " ".join(rest.split())


def _declared(statement: str) -> Scope:
    """The labels, and the registers with their parts, that a statement declares."""
    if registers := re.match(r"\.reg ?(?:\.v(\d) ?)?\.\w+ (.*)", statement):
        names = (re.sub(r"<\d+>", "", n.strip()) for n in registers[2].split(","))
        return {name: (name, int(registers[1] or 1)) for name in names}
    return {statement[:-1]: (statement[:-1], 1)} if statement.endswith(":") else {}


def scoped(body: str) -> Iterator[str]:
    """Labels and statements without braces; what an inner scope declares gets a name of its own."""
    code = ["{", *statements(body), "}"]
    declared = [_declared(s) for s in code]
    depths = list(accumulate((s == "{") - (s == "}") for s in code))
    vectors = any(parts > 1 for names in declared for _, parts in names.values())
    if not vectors and not any(n for n, depth in zip(declared, depths, strict=True) if depth > 1):
        yield from (s for s in code if s not in "{}")
        return
    scopes: list[Scope] = []
    for at, statement in enumerate(code):
        if statement == "{":
            scopes.append({})
            for k in range(at, len(code)):
                if depths[k] < depths[at]:
                    break
                if depths[k] == depths[at]:
                    inner = f"${at}_" if at else ""
                    scopes[-1] |= {n: (n + inner, parts) for n, (_, parts) in declared[k].items()}
        elif statement == "}":
            scopes.pop()
        else:
            yield from _renamed(statement, scopes)


def _renamed(statement: str, scopes: list[Scope]) -> Iterator[str]:
    def kept(found: re.Match[str]) -> str:
        word, part = found[1], found[2]
        base = re.sub(r"\d+$", "", word)
        for scope in reversed(scopes):
            for known in (word, base):
                if known in scope:
                    name, parts = scope[known]
                    if parts == 1:
                        return name + found[0][len(known) :]
                    every = [f"{name}{word[len(known) :]}${p}" for p in PARTS[:parts]]
                    return every[PARTS.index(part)] if part else f"<{', '.join(every)}>"
        return found[0]

    if statement.endswith(":"):
        yield NAME.sub(kept, statement[:-1]) + ":"
    elif registers := re.match(r"\.reg ?(\.v\d ?)?(\.\w+) (.*)", statement):
        for declared in registers[3].split(","):
            base, _, count = declared.strip(" >").partition("<")
            several = range(int(count)) if count and registers[1] else ()
            every = [f"{base}{k}" for k in several] or [declared]
            names = ", ".join(NAME.sub(kept, name).strip("<> ") for name in every)
            yield f".reg {registers[2]} {names}"
    elif statement.startswith("."):
        yield statement
    else:
        guard = re.match(r"@!?%?[\w$]+ ", statement)
        start = guard.end() if guard else 0
        op, space, rest = statement[start:].partition(" ")
        yield NAME.sub(kept, statement[:start]) + op + space + NAME.sub(kept, rest)
