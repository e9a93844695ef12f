"""The host's part of a CUDA program, as a C++ compiler takes it.

A launch becomes a call, a kernel the function that sends its arguments, a variable of the device's
one of the host's whose address stands for it. Every line stays where it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simt.errors import BadInput
from simt.programs.cuda.declarations import ANNOTATIONS, Declaration, Declarations
from simt.programs.cuda.device_part import assembled
from simt.programs.cuda.tokens import Source, included, tokens_of

__all__ = ["DeclaredKernel", "HostPart"]

BUILT_IN = {
    "int", "float", "double", "char", "unsigned", "signed", "long", "short", "bool", "size_t",
    "const",
}  # fmt: skip
# names and headers of CUDA that no part here has, and what to do without them
NOT_COVERED = {
    r"cuda(Graph(Exec|Node)?_t|StreamBeginCapture)": "CUDA graphs are not covered: launch the "
    "kernels one by one",
    r"cuda(Array_t|TextureObject_t|SurfaceObject_t|MallocArray)": "textures, surfaces and their "
    "arrays are not covered: read global memory",
    r"cuda(Extent|PitchedPtr|Malloc3D)": "memory in three dimensions is not covered: call "
    "cudaMalloc for all of it",
    r"(thrust|cub|curand\w*|cublas\w*|cufft\w*|cusparse\w*|cusolver\w*|cudnn)(\.h|/.*)": "the "
    "library {} is not covered: only kernels of the program's own run here",
    r"cuda_(fp16|bf16)\.h": "the host's part has no {}: keep 16-bit floats in kernels of cpp",
}


@dataclass
class DeclaredKernel:
    """A kernel as the program declares it."""

    name: str
    expression: str  # with its namespaces
    template: bool
    parameters: list[str]
    lines: dict[int, str]


class HostPart:
    """The part of a program that the host's compiler takes.

    `kernels` and `variables` have the numbers by which it names them.
    """

    def __init__(self, code: Declarations) -> None:
        self.code, self.source = code, code.source
        self.kernels: list[DeclaredKernel] = []
        self.variables: list[str] = []
        self.text = self._generate()

    def _generate(self) -> str:
        code = self.code
        self._check_covered()
        kept = {code.places[at] for at in range(len(code.places))}
        edits: dict[int, str] = {}
        for d in code.declarations:
            self._for_host(d, kept, edits)
        for at, place in enumerate(code.places):
            if code.text(at) == "<<<" and place in kept:
                self._launch(at, kept, edits)
        return assembled(code.tokens, kept, edits, self._directive)

    def _check_covered(self) -> None:
        for token in self.code.tokens:
            name = included(token.text) if token.kind == "directive" else None
            if token.kind == "word" or name:
                for pattern, reason in NOT_COVERED.items():
                    if re.fullmatch(pattern, name or token.text):
                        message = reason.format((name or "").partition("/")[0])
                        raise BadInput(f"{self.source.place(token.line)}: {message}")

    def _drop(self, first: int, last: int, kept: set[int]) -> None:
        kept.difference_update(self.code.places[first:last])

    def _for_host(self, d: Declaration, kept: set[int], edits: dict[int, str]) -> None:
        code = self.code
        if "__managed__" in d.marks:
            raise BadInput(
                f"{self._place(d)}: __managed__ variables are not covered: "
                "call cudaMallocManaged for the memory"
            )
        shared = "__shared__" in d.marks
        explicit = d.kind == "other" and "__global__" in d.words
        if shared or explicit or (d.kind == "function" and not d.for_host and not _is_kernel(d)):
            self._drop(d.first, d.last, kept)
            return
        for inner in d.inner:
            self._for_host(inner, kept, edits)
        head_end = d.body[0] if d.body else d.last
        at = d.first
        while at < head_end:
            if code.text(at) in ANNOTATIONS or code.macros.get(code.text(at), set()) & ANNOTATIONS:
                last = at
                if code.text(at) == "__launch_bounds__":
                    last = code.closing(at + 1)
                self._drop(at, last + 1, kept)
                at = last
            elif d.inner and code.text(at) == "{":
                at = code.closing(at)
            at += 1
        if d.kind == "function" and _is_kernel(d) and d.body:
            self._stub(d, kept, edits)
        elif d.kind == "variable" and d.for_device and "extern" not in d.marks:
            self._shadow(d, edits)

    def _place(self, d: Declaration) -> str:
        return self.source.place(self.code.token(d.first).line)

    def _shadow(self, d: Declaration, edits: dict[int, str]) -> None:
        """The host's variable of the same name, whose address stands for the device's."""
        registrations = []
        for name in sorted(d.names):
            number = len(self.variables)
            qualified = "::" + "::".join((*d.scope, name))
            self.variables.append(qualified[2:])
            registrations.append(
                f" static const bool simt_v{number} = "
                f"::simt::variable({number}, &{qualified}, sizeof({qualified}));"
            )
        edits[self.code.places[d.last - 1]] = ";" + "".join(registrations)

    def _stub(self, d: Declaration, kept: set[int], edits: dict[int, str]) -> None:
        """A kernel's body on the host: what sends its arguments."""
        code = self.code
        number = len(self.kernels)
        opened, closed = d.groups[-1]
        name = code.text(opened - 1)
        parameters = self._parameters(opened, closed, edits)
        sends = []
        for kind, parameter in self._template(d):
            how = f"type<{parameter}>()" if kind == "type" else f"value({parameter})"
            sends.append(f"simt_call.{how};")
        sends += [f"simt_call.argument({p});" for p in parameters]
        assert d.body is not None
        self._drop(d.body[0], d.body[1], kept)
        start = code.places[d.body[0]]
        kept.add(start)
        edits[start] = f"{{ ::simt::Call simt_call({number}); {' '.join(sends)}"
        tail = " simt_call.go(); }"
        if d.template is None:
            qualified = "::".join(("", *d.scope, name))  # std may have the name too
            tail += f" static const bool simt_k{number} = ::simt::known(&{qualified});"
        edits[code.places[d.body[1]]] = tail
        tokens = code.tokens[code.places[d.first] : code.places[d.last - 1] + 1]
        first = tokens[0].line
        text = "".join(t.text for t in tokens)
        self.kernels.append(
            DeclaredKernel(name, "::".join((*d.scope, name)), d.template is not None, parameters,
                   dict(enumerate(text.splitlines(), first)))
        )  # fmt: skip

    def _parameters(self, opened: int, closed: int, edits: dict[int, str]) -> list[str]:
        """The names of a kernel's parameters; one without a name gets one."""
        code, names = self.code, []
        for number, (first, last) in enumerate(code.parted(opened, closed)):
            words = [code.text(k) for k in range(first, last)]
            if words == ["void"]:
                continue
            end = next((k for k in range(first, last) if code.text(k) in ("=", "[")), last)
            if "(" in words:  # `float (*rows)[4]`
                end = first + words.index("(") + 3
            name = code.text(end - 1)
            has_name = code.is_word(end - 1) and name not in BUILT_IN | {"__restrict__"}
            if not has_name or end - first < 2:
                name = f"simt_{number}"
                place = code.places[end - 1]
                edits[place] = f"{code.text(end - 1)} {name}"
            names.append(name)
        return names

    def _template(self, d: Declaration) -> list[tuple[str, str]]:
        """The template parameters of a kernel: whether each is a type, and its name."""
        if d.template is None:
            return []
        code, parameters = self.code, []
        for first, last in code.parted(*d.template):
            words = [code.text(k) for k in range(first, last)]
            if "..." in "".join(words) or words[0] == "template":
                raise BadInput(
                    f"{self._place(d)}: a kernel's template takes types and numbers here, and "
                    f"this one {' '.join(words)!r}: write it for the types that are used"
                )
            end = words.index("=") if "=" in words else len(words)
            kind = "type" if words[0] in ("typename", "class") else "value"
            parameters.append((kind, words[end - 1]))
        return parameters

    def _launch(self, at: int, kept: set[int], edits: dict[int, str]) -> None:
        """`kernel<<<grid, block>>>(...)` as a call that is told of its shape before."""
        code = self.code
        begin, end = code.callee(at), at + 1
        while code.text(end) != ">>>":
            if code.text(end) in ("(", "[", "{"):
                end = code.closing(end)
            end += 1
            if not code.text(end) or code.text(end) == ";":
                line = self.source.place(code.token(at).line)
                raise BadInput(f"{line}: the launch's <<< has no >>>")
        if code.text(end + 1) != "(":
            line = self.source.place(code.token(end).line)
            raise BadInput(f"{line}: a launch needs its arguments: kernel<<<...>>>(...)")
        tokens = code.tokens[code.places[begin] : code.places[at]]
        callee = " ".join("".join(t.text for t in tokens if t.kind != "comment").split())
        self._drop(begin, at, kept)
        for place in range(code.places[begin], code.places[at]):
            if code.tokens[place].text == " ":
                kept.add(place)
                edits[place] = ""
        kept.add(code.places[begin])
        edits[code.places[begin]] = "(::simt::configure("
        edits[code.places[at]] = ""
        edits[code.places[end]] = f"), {callee}"
        close = code.places[code.closing(end + 1)]
        edits[close] = edits.get(close, ")") + ")"

    def _directive(self, text: str, inside: bool) -> bool | str:
        """A directive as it is, or a macro with the launches in it rewritten."""
        head = re.match(r"\s*#\s*define\s+\w+(\([^)]*\))?", text) if "<<<" in text else None
        if head is None:
            return True
        body = Declarations(Source(tokens_of(text[head.end() :]), self.source.files))
        return head[0] + HostPart(body).text


def _is_kernel(d: Declaration) -> bool:
    return "__global__" in d.marks
