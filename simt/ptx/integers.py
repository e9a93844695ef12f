"""Integer arithmetic on arrays of one element for each thread: quotients, shifts, bits."""

from typing import Any

import numpy as np

Array = Any  # of NumPy


def bit_mask(start: Array, width: Array, *, wrap: bool) -> Array:
    """`bmsk`: so many ones from a bit on; both numbers modulo 32, or at most 32."""
    a, b = (np.uint64(x & 31 if wrap else np.minimum(x, 32)) for x in (start, width))
    return (((np.uint64(1) << b) - np.uint64(1)) << a).astype(np.uint32)


def quotient(a: Array, b: Array) -> Array:
    """Towards zero, as C divides; what a division by zero gives is anybody's guess."""
    b = np.where(b == 0, np.ones_like(b), b)
    q, r = np.divmod(a, b)
    return q + ((r != 0) & ((a < 0) != (b < 0))).astype(q.dtype)


def divide(a: Array, b: Array) -> Array:
    """A quotient, of integers towards zero."""
    return a / b if a.dtype.kind == "f" else quotient(a, b)


def remainder(a: Array, b: Array) -> Array:
    """The remainder of `quotient`, with the sign of a."""
    return a - quotient(a, b) * b


def wide(a: Array) -> Array:
    """The same numbers in twice the bits."""
    return a.astype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")


def high_half(a: Array, b: Array) -> Array:
    """The upper half of a product of two numbers."""
    bits = 8 * a.dtype.itemsize
    if bits == 64:
        product = a.astype(object) * b.astype(object)
        return np.asarray((product >> 64) % (1 << 64), dtype=np.uint64).view(a.dtype)
    return (wide(a) * wide(b) >> bits).astype(a.dtype)


def with_carry(op: tuple[str, ...], *operands: Array) -> tuple[Array, Array]:
    """`add.cc`, `madc.hi` and their kin: the result, and what is carried on; a carry comes last."""
    *numbers, carry = (x.view(f"u{x.dtype.itemsize}") for x in operands)
    if op[0].startswith("mad"):
        a, b, y = numbers
        x = high_half(a, b) if "hi" in op else a * b
    else:
        x, y = numbers
    carry = carry.astype(x.dtype)
    if op[0].startswith("sub"):  # x + ~y + 1, as hardware does: a carry of 0 says that it borrows
        first = x - y
        borrow = x.dtype.type(1) - carry
        result = first - borrow
        over = (x >= y) & (first >= borrow)
    else:
        first = x + y
        result = first + carry
        over = (first < x) | (result < first)
    return result.view(operands[0].dtype), over.astype(np.uint8)


def product_of_24_bits(op: tuple[str, ...], a: Array, b: Array, *c: Array) -> Array:
    """`mul24`, `mad24`: the lower or upper 32 bits of the 48 that the lowest 24 give; plus c."""
    up = a.dtype.type(8)
    x, y = (wide(x << up >> up) for x in (a, b))  # with their sign
    result = (x * y >> (16 if "hi" in op else 0)).astype(a.dtype)
    return result + c[0] if c else result


def packed_limited(kind: str, a: Array, b: Array, *c: Array) -> Array:
    """`cvt.pack`: a and b limited to a type such as "s8", behind them the lower bits of c."""
    bits = int(kind[1:])
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    mask = np.int64((1 << bits) - 1)
    upper, lower = (np.clip(x.astype(np.int64), low, high) & mask for x in (a, b))
    rest = c[0].astype(np.int64) << 2 * bits if c else 0
    return (rest | upper << bits | lower).astype(np.uint32)


def saturated_sum(a: Array, b: Array, *, minus: bool) -> Array:
    """`add.sat.s32` and `sub.sat.s32`: the nearest number that there is."""
    limits = np.iinfo(a.dtype)
    total = wide(a) - wide(b) if minus else wide(a) + wide(b)
    return np.clip(total, limits.min, limits.max).astype(a.dtype)


def shift_left(a: Array, amount: Array) -> Array:
    """Bits moved up; all gone if they are moved by their number or more."""
    bits = a.dtype.itemsize * 8
    n = np.minimum(amount, bits - 1).astype(a.dtype)
    return np.where(amount >= bits, a.dtype.type(0), a << n)


def shift_right(a: Array, amount: Array) -> Array:
    """Bits moved down, of signed numbers with copies of the sign."""
    bits = a.dtype.itemsize * 8
    n = np.minimum(amount, bits - 1).astype(a.dtype)
    if a.dtype.kind == "i":  # the sign comes in from the left
        return a >> n
    return np.where(amount >= bits, a.dtype.type(0), a >> n)


def bit_field_insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """The lowest `length` bits of a, put into b from bit `start` on."""
    kind = a.dtype.type
    bits = 8 * a.dtype.itemsize
    ones = np.where(
        length >= bits, ~kind(0), (kind(1) << np.minimum(length, bits - 1).astype(kind)) - kind(1)
    )
    mask = shift_left(ones, start)
    return (b & ~mask) | (shift_left(a, start) & mask)


def bit_field_extract(a: Array, start: Array, length: Array) -> Array:
    """So many bits of a from `start` on, of signed numbers with their sign."""
    bits = 8 * a.dtype.itemsize
    up = np.maximum(bits - start.astype(np.int64) - length, 0).astype(np.uint32)
    down = (bits - length).astype(np.uint32)
    return shift_right(shift_left(a, up), down)


def count_bits(a: Array) -> Array:
    """How many bits are set."""
    parts = a[..., None] >> np.arange(8 * a.dtype.itemsize, dtype=a.dtype)
    return (parts & a.dtype.type(1)).sum(axis=-1).astype(np.uint32)


def leading_zeros(a: Array) -> Array:
    """How many bits stand above the highest that is set."""
    bits = 8 * a.dtype.itemsize
    halves = [a >> a.dtype.type(32), a & a.dtype.type(0xFFFFFFFF)] if bits == 64 else [a]
    top, *low = (32 - np.frexp(half.astype(np.float64))[1] for half in halves)
    zeros = np.where(top == 32, 32 + low[0], top) if low else top
    return zeros.astype(np.uint32)


def reversed_bits(a: Array) -> Array:
    """The bits in reverse order."""
    result = np.zeros_like(a)
    one = a.dtype.type(1)
    for _ in range(8 * a.dtype.itemsize):
        result = (result << one) | (a & one)
        a = a >> one
    return result


def highest_bit(a: Array) -> Array:
    """The place of the highest bit that differs from the sign; all ones if there is none."""
    if a.dtype.kind == "i":
        a = np.where(a < 0, ~a, a)
    bits = 8 * a.dtype.itemsize
    zeros = leading_zeros(a.view(f"u{a.dtype.itemsize}"))
    return np.where(zeros == bits, 0xFFFFFFFF, bits - 1 - zeros.astype(np.int64)).astype(np.uint32)


def shift_to_highest(a: Array) -> Array:
    """How far to shift up for the highest bit of interest to come to the top."""
    highest = highest_bit(a)
    top = np.uint32(8 * a.dtype.itemsize - 1)
    return np.where(highest == 0xFFFFFFFF, highest, top - highest).astype(np.uint32)


def parts(x: Array, size: int) -> Array:
    """The halves (size 2) or bytes (size 1) of registers, with a sign where those have one."""
    return np.ascontiguousarray(x).view(f"{x.dtype.kind}{size}").reshape(*x.shape, -1)


def dot_of_bytes(a: Array, b: Array, c: Array) -> Array:
    """`dp4a`: c plus the products of the four bytes of a and b, which are signed as a and b are."""
    products = parts(a, 1).astype(c.dtype) * parts(b, 1).astype(c.dtype)
    return c + products.sum(axis=-1, dtype=c.dtype)


def distance_of_parts(op: tuple[str, ...], a: Array, b: Array, c: Array) -> Array:
    """`vabsdiff2`, `vabsdiff4`: how far halves or bytes are apart, in place or c plus all."""
    size = 4 // int(op[0][-1])
    apart = absolute_difference(parts(a, size), parts(b, size)).view(f"u{size}")
    return c + apart.sum(-1, c.dtype) if "add" in op else apart.view(c.dtype)[..., 0]


def dot_of_halves(a: Array, b: Array, c: Array, *, high: bool) -> Array:
    """`dp2a`: c plus the two halves of a times the lower or the higher two bytes of b."""
    octets = parts(b, 1)[..., slice(2, 4) if high else slice(2)]
    products = parts(a, 2).astype(c.dtype) * octets.astype(c.dtype)
    return c + products.sum(axis=-1, dtype=c.dtype)


def permuted(a: Array, b: Array, choice: Array) -> Array:
    """`prmt`: four of the eight bytes of b:a, each with its own number or its sign."""
    both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
    result = np.zeros(np.broadcast_shapes(both.shape, choice.shape), np.uint32)
    for k in range(4):
        pick = (choice >> np.uint32(4 * k)) & np.uint32(15)
        byte = (both >> (8 * (pick & 7)).astype(np.uint64)).astype(np.uint32) & np.uint32(255)
        sign = np.where(byte >= 128, np.uint32(255), np.uint32(0))
        byte = np.where(pick >= 8, sign, byte)
        result |= byte << np.uint32(8 * k)
    return result


def lookup(a: Array, b: Array, c: Array, table: Array) -> Array:
    """`lop3`: bit by bit, what a table of eight bits says."""
    result = np.zeros_like(a)
    for k in range(8):
        if int(table.flat[0]) >> k & 1:
            x, y, z = (x if k >> n & 1 else ~x for x, n in ((a, 2), (b, 1), (c, 0)))
            result = result | (x & y & z)
    return result


def funnel(left: bool, low: Array, high: Array, amount: Array, wrap: bool) -> Array:
    """`shf`: 32 bits out of 64, from high:low shifted."""
    count = (amount & np.uint32(31)) if wrap else np.minimum(amount, np.uint32(32))
    whole = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    count = count.astype(np.uint64)
    if left:
        return (whole << count >> np.uint64(32)).astype(np.uint32)
    return (whole >> count).astype(np.uint32)


def absolute_difference(a: Array, b: Array, *c: Array) -> Array:
    """The distance of two numbers, plus c."""
    distance = np.where(a > b, a - b, b - a)
    return distance + c[0] if c else distance
