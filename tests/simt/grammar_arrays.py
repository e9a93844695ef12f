"""Random kernels' arrays of all kinds: complex, records, views, and loops over their elements.

Complex numbers are multiplied only as they come from the inputs, which are small: how a product
of others rounds is the compiler's to say.
"""

import numpy as np

from .grammar_expressions import Expressions, Scope

PART = np.dtype([("u", "i2"), ("w", "f8")], align=True)
RECORD = np.dtype([("a", "f4"), ("b", "i4"), ("sub", PART), ("row", "f4", (3,))], align=True)
MORE = {"m4": "f4", "c8": "c8", "c16": "c16", "rec": RECORD}
MORE_OUTPUTS = {"oc8": "c8", "oc16": "c16", "orec": RECORD}

REALS = [
    "rec[i].a", "rec[i]['a']", "rec.a[i]", "rec[i].sub.w", "rec.sub.w[i]", "rec[i].row[n % 3]",
    "rec.row[i, 2]", "orec[i].a", "orec[i].row[1]", "m4[i, 2]", "m4[i][1]", "m4.T[n % 3, i]",
    "m4[i, ::-1][0]", "m4[i:, ::2][0, 1]", "m4.reshape(m4.size)[i * 3]", "m4[::-1, 1][i]",
    "f4[i:][0]", "f4[::-1][i]", "c8.real[i]", "c16.imag[i]", "c8[i].imag", "c16[i].real",
]  # fmt: skip
INTEGERS = [
    "rec[i].b", "rec[i].sub.u", "rec.sub.u[i]", "orec[i].b", "m4.shape[1]", "m4.size", "m4.ndim",
    "m4.T.shape[0]", "m4.strides[0]", "m4.T.strides[0]", "len(m4)", "f4[::2].shape[0]",
    "f4.view(np.int32)[i]", "i8.view(np.int32)[2 * i + 1]", "i4.reshape(i4.size)[i]",
    "f4.itemsize", "rec.size", "m4[:, 1:].strides[0]",
]  # fmt: skip
ROWS = [
    "m4[i]", "m4[i, ::-1]", "m4[i, n % 3:]", "rec[i].row", "f4[i:i + n]", "m4.T[:, i]",
    "f4[::-1][i:i + 2]", "of8[i:i + 1]",
]  # fmt: skip

FILL = """SIZE = 4
@cuda.jit(device=True)
def fill0(size, value):
    box = cuda.local.array(size, numba.float64)
    for j in range(size):
        box[j] = value - j
    return box[0] + box[size - 1]
"""


def filled(kind: str | np.dtype, threads: int, rng: np.random.Generator) -> np.ndarray:
    """Small numbers of a kind; `m4` has rows of three."""
    dtype = np.dtype(kind)
    made = np.zeros(threads, dtype)
    if dtype.names:
        for name in dtype.names:
            inner = dtype[name]
            base, shape = inner.subdtype or (inner, ())
            values = filled(base, threads * int(np.prod(shape)), rng)
            made[name] = values.reshape(threads, *shape)
        return made
    quarters = rng.integers(-36, 37, threads) / 4
    if dtype.kind == "c":
        return (quarters + 1j * (rng.integers(-36, 37, threads) / 4)).astype(dtype)
    return quarters.astype(dtype)


def more_arguments(threads: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Those of MORE and MORE_OUTPUTS, in their order."""
    made = [filled(kind, threads * (3 if name == "m4" else 1), rng) for name, kind in MORE.items()]
    made[0] = made[0].reshape(threads, 3)
    return made + [np.zeros(threads, kind) for kind in MORE_OUTPUTS.values()]


class Arrays(Expressions):
    """Writes what kernels do with arrays that are not plain ones."""

    def real(self, scope: Scope, depth: int = 2) -> str:
        if self.choose(6) or not self.in_kernel:
            return super().real(scope, depth)
        form = self.choose(6)
        if form == 0 and depth > 0:
            return f"fill0({self.pick(['3', 'SIZE', '1'])}, {super().real(scope, depth - 1)})"
        if form == 1 and depth > 0:
            name = self.pick(["maximum", "minimum", "fmax", "fmin"])
            return f"np.{name}({super().real(scope, depth - 1)}, {super().real(scope, 0)})"
        if form == 2 and depth > 0:
            return f"({self.complex(scope, depth - 1)}).{self.pick(['real', 'imag'])}"
        return self.pick(REALS)

    def integer(self, scope: Scope, depth: int = 2) -> str:
        if self.choose(6) or not self.in_kernel:
            return super().integer(scope, depth)
        form = self.choose(6)
        if form == 0 and depth > 0:
            name = self.pick(["maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"])
            return f"np.{name}({super().integer(scope, depth - 1)}, {super().integer(scope, 0)})"
        if form == 1 and depth > 0:
            same = self.pick(["==", "!="])
            return f"(({self.complex(scope, 0)} {same} {self.complex(scope, 0)}) + 0)"
        if form == 2 and depth > 0:
            return f"(np.isnan({super().real(scope, 0)}) + {super().integer(scope, 0)})"
        return self.pick(INTEGERS)

    def complex(self, scope: Scope, depth: int = 2) -> str:
        """A complex number."""
        if depth <= 0 or self.choose(4) == 0:
            leaves = ["c8[i]", "c16[i]", "(1.5 - 2j)", "oc8[i]", "oc16[i]", *scope.complexes]
            return self.pick(leaves + scope.complexes)
        form = self.choose(6)
        if form == 0:
            others = ["c16[i]", "c8[i]", "(1.5 - 2j)", "n", "np.float32(0.5)", "i4[i]", "f8[i]"]
            return f"({self.pick(['c8[i]', 'c16[i]'])} * {self.pick(others)})"
        if form == 1:
            return f"complex({super().real(scope, 0)}, {super().real(scope, 0)})"
        a = self.complex(scope, depth - 1)
        if form == 2:
            return self.pick([f"(-{a})", f"({a}).conjugate()", f"np.conj({a})"])
        if form == 3:
            return f"({a} if {self.condition(scope, 0)} else {self.complex(scope, 0)})"
        other = self.complex(scope, 0) if self.choose(3) else super().real(scope, 0)
        return f"({a} {self.pick(['+', '-'])} {other})"

    def of_complex(self, scope: Scope) -> None:
        """A complex variable, or an output."""
        value = self.complex(scope)
        form = self.choose(5)
        if form == 0 and scope.complexes:
            self.say(f"{self.pick(scope.complexes)} {self.pick(['=', '+=', '-='])} {value}")
        elif form < 3:
            new = self.name("z")
            self.say(f"{new} = {value}")
            scope.complexes.append(new)
        elif form == 3:
            part = self.pick(["oc8.real", "oc8.imag", "oc16.real", "oc16.imag"])
            self.say(f"{part}[i] = {self.real(scope, 1)}")
        else:
            self.say(f"{self.pick(['oc8', 'oc16'])}[i] {self.pick(['=', '+='])} {value}")

    def of_record(self, scope: Scope) -> None:
        """A write to the thread's own record."""
        form = self.choose(6)
        if form == 0:
            self.say("orec[i] = rec[i]")
        elif form == 1:
            self.say(f"orec[i].row[({self.integer(scope, 1)}) % 3] = {self.real(scope, 1)}")
        elif form == 2:
            mine = self.name("o")
            self.say(f"{mine} = orec[i]")
            self.say(f"{mine}.a = {self.real(scope, 1)}")
            self.say(f"{mine}.b += {self.integer(scope, 1)}")
        elif form < 5:
            field = self.pick(["orec[i].a", "orec[i]['a']", "orec[i].sub.w", "orec.sub.w[i]"])
            self.say(f"{field} = {self.real(scope, 1)}")
        else:
            field = self.pick(["orec[i].b", "orec[i].sub.u", "orec.b[i]", "orec.sub.u[i]"])
            self.say(f"{field} = {self.integer(scope, 1)}")

    def of_view(self, scope: Scope) -> None:
        """A part of an array by a name of its own: read, or written where it is the thread's."""
        part = self.name("v")
        if self.choose(3) == 0:
            self.say(f"{part} = {self.pick(['of8[i:]', 'of8[i:i + 1]', 'of8[i::2]'])}")
            self.say(f"{part}[0] {self.pick(['=', '+='])} {self.real(scope, 1)}")
            return
        new = self.name("r")
        self.say(f"{part} = {self.pick(ROWS)}")
        self.say(f"{new} = {part}[({self.integer(scope, 1)}) % {part}.shape[0]]")
        scope.floats.append(new)

    def over_array(self, scope: Scope) -> Scope:
        """The head of a loop over elements, and what is known in it."""
        inner = scope.inner(loop=True)
        value = self.name("r")
        inner.floats.append(value)
        row = self.pick(ROWS)
        form = self.choose(3)
        if form == 0:
            count = self.name("k")
            self.say(f"for {count}, {value} in enumerate({row}):")
            inner.ints.append(count)
        elif form == 1:
            other = self.name("r")
            self.say(f"for {value}, {other} in zip({row}, {self.pick(ROWS)}):")
            inner.floats.append(other)
        else:
            self.say(f"for {value} in {row}:")
        return inner
