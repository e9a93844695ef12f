"""Textures and surfaces: fetches, filtered or not, and accesses by the coordinates of texels.

How a coordinate becomes texels and weights is what "Texture Fetching" in NVIDIA's CUDA C++
Programming Guide says; the weights of a linear filter have 8 bits of fraction.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from math import prod
from operator import and_
from typing import Any

import numpy as np

from simt.core.findings import Finding
from simt.ptx.memory import MemoryAccess

Lanes = Any
WRAP, CLAMP, MIRROR, BORDER = range(4)  # cudaTextureAddressMode
FRACTION = 256  # parts of a texel that a weight tells apart
FAR = float(1 << 40)  # beyond any texel
NOTHING = (np.float32(0),) * 4
GATHERED = ((0, 1), (1, 1), (1, 0), (0, 0))  # x, y of the four texels of `tld4`


@dataclass(frozen=True, eq=False)
class Texels:
    """Texels in memory: what a surface object stands for.

    `shape` is width, height and depth or layers, each at least 1; `pitches` the bytes from a texel,
    a row and a slice to the next.
    """

    name: str
    address: int
    shape: tuple[int, ...]
    pitches: tuple[int, ...]
    kind: str  # of a channel: "i", "u" or "f"
    bits: int  # of a channel
    channels: int


@dataclass(frozen=True, eq=False)
class Texture:
    """A texture object: texels, and how a fetch goes about them."""

    texels: Texels
    modes: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    filtered: bool = False
    normalized: bool = False  # coordinates
    floats: bool = False  # integers are read as numbers from 0, or -1, to 1
    border: tuple[Any, ...] = NOTHING

    def axis(self, k: int, x: Lanes, *, smooth: bool) -> list[tuple[Lanes, Lanes, Lanes]]:
        """The texel at a coordinate, or two if `smooth`: number, weight, whether it is inside."""
        count, mode = self.texels.shape[k], self.modes[k]
        x = np.clip(np.where(x == x, x, np.float32(0)), np.float32(-FAR), np.float32(FAR))
        if self.normalized:
            if mode in (WRAP, MIRROR):
                whole = np.floor(x)
                x = x - whole
                if mode == MIRROR:
                    x = np.where(np.floor(whole / 2) * 2 != whole, 1 - x, x)
            x = x * count
        elif mode in (WRAP, MIRROR):
            mode = CLAMP
        x = x.astype(np.float64) - (0.5 if smooth else 0.0)
        first = np.floor(x)
        number, result = first.astype(np.int64), []
        places = [(number, 1.0)]
        if smooth:
            share = np.floor((x - first) * FRACTION + 0.5) / FRACTION
            places = [(number, 1 - share), (number + 1, share)]
        for place, weight in places:
            inside = (place >= 0) & (place < count) if mode == BORDER else True
            if mode == WRAP:  # at most one beyond
                place = np.where(place < 0, count - 1, np.where(place < count, place, 0))
            else:
                place = np.clip(place, 0, count - 1)
            result.append((place, weight, inside))
        return result

    @property
    def dtype(self) -> np.dtype[Any]:
        """What a fetch gives: float32, or an integer of 32 bits."""
        real = self.floats or self.texels.kind == "f"
        return np.dtype(np.float32 if real else f"{self.texels.kind}4")

    @property
    def way(self) -> tuple[Any, ...]:
        """All but numbers that tells apart how it is fetched from."""
        t = self.texels
        return self.modes, self.filtered, self.normalized, self.floats, t.kind, t.bits, t.channels

    def values(self, raw: Lanes) -> Lanes:
        """Channels as a fetch gives them, from what is stored."""
        if self.texels.kind == "f" or not self.floats:
            return raw.astype(self.dtype)
        largest = np.iinfo(raw.dtype).max
        return np.maximum(raw.astype(np.float32) / np.float32(largest), np.float32(-1))


def cube_face(x: Lanes, y: Lanes, z: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """The face of a cube to which a vector points, and the normalized coordinates in it."""
    ax, ay, az = abs(x), abs(y), abs(z)
    along_x, along_y = (ax >= ay) & (ax >= az), ay >= az
    m = np.where(along_x, x, np.where(along_y, y, z))
    negative = m < 0
    s = np.where(along_x, np.where(negative, z, -z), np.where(along_y | ~negative, x, -x))
    t = np.where(along_x | ~along_y, -y, np.where(negative, -z, z))
    face = np.where(along_x, 0, np.where(along_y, 2, 4)) + np.where(negative, 1, 0)
    size = np.where(m == 0, 1.0, abs(m))
    return face, *(((x / size + 1) / 2).astype(np.float32) for x in (s, t))


def sampled(
    texture: Texture, geometry: str, layer: Lanes, where: tuple[Lanes, ...], gather: int | None,
    load: Callable[[Texels, Lanes, Lanes], Any],
) -> list[Lanes]:  # fmt: skip
    """The four channels that a texture has at coordinates.

    With `gather`, one channel of the four texels that a linear filter would weigh. `load` gives
    what is stored so many bytes behind the first texel, where it is inside.
    """
    texels = texture.texels
    if where[0].dtype.kind != "f":  # tex1Dfetch, which gives 0 where there is no texel
        texture = Texture(texels, (BORDER,) * 3, floats=texture.floats)
        where = (where[0].astype(np.float64),)
    cube, place = geometry.endswith("cube"), 0
    if cube:
        place, *where2 = cube_face(*(x.astype(np.float64) for x in where))
        where = tuple(where2)
        texture = replace(texture, normalized=True, modes=(CLAMP, CLAMP, CLAMP))
    if layer is not None:
        faces = 6 if cube else 1
        last = texels.shape[2] // faces - 1
        place = np.clip(layer.astype(np.int64), 0, last) * faces + place
    smooth = texture.filtered or gather is not None
    axes = [texture.axis(k, x, smooth=smooth) for k, x in enumerate(where)]
    edge, corners = [number.astype(texture.dtype) for number in texture.border], []
    zeros = [np.zeros((1, 1), texture.dtype)] * 4
    for corner in product(*axes):
        numbers, weights, conditions = zip(*corner, strict=True)
        steps, inside = zip(numbers, texels.pitches, strict=False), reduce(and_, conditions)
        further = sum(n * step for n, step in steps) + place * texels.pitches[2]
        stored = load(texels, further, inside)
        values = [texture.values(number) for number in stored]
        values += zeros[texels.channels :]
        if inside is not True:
            values = [np.where(inside, v, e) for v, e in zip(values, edge, strict=True)]
        corners.append((values, prod(weights)))
    if gather is not None:
        return [corners[2 * x + y][0][gather] for x, y in GATHERED]
    if not smooth:
        return corners[0][0]
    held = 4 if BORDER in texture.modes else texels.channels
    sums = [sum(w * v[k] for v, w in corners).astype(np.float32) for k in range(held)]
    return sums + zeros[held:]


def in_surface(
    texels: Texels, layer: Lanes, where: tuple[Lanes, ...], size: int
) -> tuple[list[Lanes], Lanes, Lanes]:
    """Coordinates in a surface, the bytes from its first texel there, whether that is outside."""
    coordinates = [x.astype(np.int64) for x in where]
    if layer is not None:
        coordinates += [0 * coordinates[0]] * (2 - len(where))
        coordinates.append(layer.astype(np.int64))
    width, height, depth = texels.shape
    last = (width * texels.pitches[0] - size, height - 1, depth - 1)
    further: Lanes = 0
    outside: Lanes = False
    for x, step, end in zip(coordinates, (1, *texels.pitches[1:]), last, strict=False):
        outside = outside | (x < 0) | (x > end)
        further = further + np.clip(x, 0, np.maximum(end, 0)) * step
    return coordinates, further, outside


class TextureAccess(MemoryAccess):
    """The fetches of a chunk of blocks, and its accesses to surfaces."""

    def _by_object(
        self, objects: Lanes, kind: type, dtype: np.dtype[Any], access: Callable[[Any], Lanes]
    ) -> Lanes:
        """What an access gives to each object that active threads name."""

        def to(handle: int) -> Lanes:
            found = self.program.textures.get(handle)
            if not isinstance(found, kind):
                who, what = self.who(self.mask), "texture" if kind is Texture else "surface"
                message = f"{self.text(who[0])} names {handle:#x}, which is no {what} object"
                raise self.stop("out-of-bounds", message, *who)
            return access(found)

        every = np.unique(objects).tolist()
        result = self._merged_parts((objects == n, partial(to, n)) for n in every)
        return np.zeros((4, 1, 1), dtype) if result is None else result

    def _numbers(self, address: Lanes, dtype: Any, count: int, inside: Lanes) -> Lanes:
        """Numbers that lie one behind the other, along a first axis."""

        def load() -> Lanes:
            values = self.rely(self.load("global", address, 0, dtype, count))
            return np.moveaxis(values, -1, 0) if count > 1 else values[None]

        result = self._merged_parts([(inside, load)])
        return np.zeros((count, 1, 1), dtype) if result is None else result

    def fetch(
        self, geometry: str, objects: Lanes, layer: Lanes, where: tuple[Lanes, ...],
        dtype: np.dtype[Any], gather: int | None = None,
    ) -> Lanes:  # fmt: skip
        """`tex`, or `tld4` with `gather`: what `sampled` gives, along a first axis."""

        def load(t: Texels, further: Lanes, inside: Lanes) -> Lanes:
            stored = np.dtype(f"{t.kind}{t.bits // 8}")
            return self._numbers(t.address + further, stored, t.channels, inside)

        def access(texture: Texture) -> Lanes:
            parts = sampled(texture, geometry, layer, where, gather, load)
            return np.stack(np.broadcast_arrays(*parts)).view(dtype)

        return self._by_object(objects, Texture, dtype, access)

    def surface(
        self, mode: str, _: str, objects: Lanes, layer: Lanes, where: tuple[Lanes, ...],
        dtype: np.dtype[Any], count: int, values: Lanes = None,
    ) -> Lanes:  # fmt: skip
        """`suld.b`, or `sust.b` of values: at x in bytes and y, z in texels, along a first axis."""
        size, verb = dtype.itemsize * count, "reads" if values is None else "writes"

        def access(texels: Texels) -> Lanes:
            coordinates, further, outside = in_surface(texels, layer, where, size)
            address, wrong = texels.address + further, outside & (self.mask is None or self.mask)
            if mode == "trap" and wrong.any():
                self._beyond(texels, coordinates, wrong, f"{verb} {size} bytes")
            inside = ~outside | (mode == "clamp")
            if values is not None:
                store = partial(self.store, "global", address, 0, dtype, values)
                return self._merged_parts([(inside, store)])
            return np.where(inside, self._numbers(address, dtype, count, inside), dtype.type(0))

        return self._by_object(objects, Texels, dtype, access)

    def _beyond(self, texels: Texels, coordinates: list[Lanes], wrong: Lanes, what: str) -> None:
        lanes = np.flatnonzero(self.spread(wrong))
        who, count = [self.thread_name(int(n)) for n in lanes[:2]], len(lanes)
        index = tuple(int(self.spread(x).ravel()[lanes[0]]) for x in coordinates)
        place = ", ".join(f"{a} = {x}" for a, x in zip(("byte x", "y", "z"), index, strict=False))
        shape = " x ".join(f"{n:,}" for n in texels.shape[: len(index)])
        message = (
            f"{self.text(who[0])} {what} of {texels.name} at {place}, out of bounds: it has "
            f"{shape} texels of {texels.pitches[0]} bytes{self.further(count)}"
        )
        self.pass_over(
            Finding("out-of-bounds", self.here(), message, who, texels.name, index, count=count)
        )
