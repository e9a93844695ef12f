"""PTX text made plain before it is parsed: what compilers rarely write and people do.

Registers and labels get one name per scope, registers of several parts become their parts, and
functions that take and return registers take and return parameters instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

__all__ = ["HEAD", "PARAM", "closing", "passing_parameters", "scoped", "statements"]

HEAD = re.compile(
    r"(?P<linkage>(?:\.(?:visible|weak|extern)\s+)*)\.(?P<kind>entry|func)\s*"
    r"(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*(?:\((?P<params>[^)]*)\))?"
    r"(?P<more>[^;{]*)(?P<end>[;{])"
)
PARAM = re.compile(
    r"\.(?P<space>param|reg)\s*(?:\.align\s+(?P<align>\d+)\s+)?(?P<vector>\.v\d\s*)?"
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
        taken, given = (list(PARAM.finditer(head[g] or "")) for g in ("params", "results"))
        words = re.sub(r"\.reg\b(.*?)(%?[\w$]+)(?=\s*[,)])", r".param\1\2$", head[0])
        if head["end"] == ";":
            text = text[: head.start()] + words + text[head.end() :]
            continue
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
    taken, given = (list(PARAM.finditer(head[g] or "")) for g in ("params", "results"))

    def call(found: re.Match[str]) -> str:
        results, values = (
            [v.strip() for v in (found[g] or "").split(",") if v.strip()] for g in (1, 2)
        )
        name = head["name"]
        places = [f"{name}$in{k}" for k in range(len(values))]
        backs = [f"{name}$out{k}" for k in range(len(results))]
        before = [
            f"st.param{_kind(p)} [{place}], {value};"
            for p, place, value in zip(taken, places, values, strict=True)
        ]
        after = [
            f"ld.param{_kind(p)} {register}, [{back}];"
            for p, back, register in zip(given, backs, results, strict=True)
        ]
        first = f"({', '.join(backs)}), " if backs else ""
        last = f", ({', '.join(places)})" if places else ""
        return " ".join((*before, f"call {first}{name}{last};", *after))

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
    if statement.endswith(":"):
        return {statement[:-1]: (statement[:-1], 1)}
    if registers := re.match(r"\.reg ?(?:\.v(\d) ?)?\.\w+ (.*)", statement):
        names = (re.sub(r"<\d+>", "", n.strip()) for n in registers[2].split(","))
        return {name: (name, int(registers[1] or 1)) for name in names}
    return {}


def scoped(body: str) -> Iterator[str]:
    """Labels and statements without braces, each name that several scopes declare made unique."""
    code = list(statements(body))
    declared = [_declared(s) for s in code]
    times = Counter(name for names in declared for name in names)
    vectors = any(parts > 1 for names in declared for _, parts in names.values())
    if not vectors and not any(n > 1 for n in times.values()):
        yield from (s for s in code if s not in "{}")
        return
    scopes: list[Scope] = []
    for at, statement in enumerate(["{", *code]):
        if statement == "{":
            scopes.append(_names_of_scope(declared[at:], code[at:], at, times, inner=at > 0))
        elif statement == "}":
            scopes.pop()
        else:
            yield from _renamed(statement, scopes)


def _names_of_scope(
    declared: list[Scope], code: list[str], number: int, times: Counter[str], *, inner: bool
) -> Scope:  # fmt: skip
    """What a scope itself declares, up to the brace that ends it."""
    scope, depth = Scope(), 0
    for names, statement in zip(declared, code, strict=True):
        depth += (statement == "{") - (statement == "}")
        if depth < 0:
            break
        if depth == 0:
            for name, (_, parts) in names.items():
                again = inner and times[name] > 1
                scope[name] = f"{name}${number}_" if again else name, parts
    return scope


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
    elif registers := re.match(r"(\.reg) ?(?:\.v\d ?)?(\.\w+) (.*)", statement):
        for declared in registers[3].split(","):
            base, _, count = declared.strip(" >").partition("<")
            if base[0] == "%":
                yield f".reg {registers[2]} {NAME.sub(kept, declared)}"
                continue
            every = [f"{base}{k}" for k in range(int(count))] if count else [base]
            words = ", ".join(NAME.sub(kept, name).strip("<>") for name in every)
            yield f".reg {registers[2]} {words}"
    elif statement.startswith("."):
        yield statement
    else:
        guard = re.match(r"@!?%?[\w$]+ ", statement)
        start = guard.end() if guard else 0
        op, space, rest = statement[start:].partition(" ")
        yield NAME.sub(kept, statement[:start]) + op + space + NAME.sub(kept, rest)
