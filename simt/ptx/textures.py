"""Textures and surfaces: fetches, filtered or not, and accesses by the coordinates of texels.

How a coordinate becomes texels and weights is what "Texture Fetching" in NVIDIA's CUDA C++
Programming Guide says; the weights of a linear filter have 8 bits of fraction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import prod
from operator import and_
from typing import Any

import numpy as np

from simt.core.findings import Finding
from simt.core.masks import EMPTY, split
from simt.ptx.memory import MemoryAccess

Lanes = Any
WRAP, CLAMP, MIRROR, BORDER = range(4)  # cudaTextureAddressMode
FRACTION = 256  # parts of a texel that a weight tells apart
FAR = float(1 << 40)  # beyond any texel
GATHERED = ((0, 1), (1, 1), (1, 0), (0, 0))  # x, y of the four texels of `tld4`


@dataclass(frozen=True, eq=False)
class Texels:
    """Texels in memory: what a surface object stands for.

    `shape` is width, height and depth or layers, each at least 1; `pitches` the bytes from a texel,
    a row and a slice to the next.
    """

    name: str
    address: int
    shape: tuple[int, int, int]
    pitches: tuple[int, int, int]
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
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    def axis(self, k: int, x: Lanes, *, smooth: bool) -> list[tuple[Lanes, Lanes, Lanes]]:
        """Where a coordinate leads along an axis: texel, weight, whether it is inside.

        One place, or the two that a linear filter weighs (`smooth`).
        """
        count, mode = self.texels.shape[k], self.modes[k]
        x = x.astype(np.float32)
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
        places = [(first, 1.0)]
        if smooth:
            share = np.floor((x - first) * FRACTION + 0.5) / FRACTION
            places = [(first, 1 - share), (first + 1, share)]
        result = []
        for place, weight in places:
            number = place.astype(np.int64)
            inside = (number >= 0) & (number < count) if mode == BORDER else True
            wraps = mode == WRAP
            number = (number + count) % count if wraps else np.clip(number, 0, count - 1)
            result.append((number, weight, inside))
        return result

    @property
    def dtype(self) -> np.dtype[Any]:
        """What a fetch gives: float32, or an integer of 32 bits."""
        real = self.floats or self.texels.kind == "f"
        return np.dtype(np.float32 if real else f"{self.texels.kind}4")

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
    return face, (s / size + 1) / 2, (t / size + 1) / 2


def sampled(
    texture: Texture, geometry: str, layer: Lanes, where: tuple[Lanes, ...], gather: int | None,
    texels: Callable[[Texture, list[Lanes], Lanes], list[Lanes]],
) -> list[Lanes]:  # fmt: skip
    """The four channels that a texture has at coordinates.

    With `gather`, one channel of the four texels that a linear filter would weigh. `texels` gives
    the channels of texels by their numbers along x, y, z; the border's where they are not inside.
    """
    width, _, depth = texture.texels.shape
    if where[0].dtype.kind != "f":  # tex1Dfetch, which gives 0 where there is no texel
        texture = replace(texture, border=(0.0, 0.0, 0.0, 0.0))
        number = where[0].astype(np.int64)
        inside = (number >= 0) & (number < width)
        return texels(texture, [np.clip(number, 0, width - 1)], inside)
    slices: list[Lanes] = []
    if geometry in ("cube", "acube"):
        face, *where2 = cube_face(*(x.astype(np.float64) for x in where))
        slices, where = [face], tuple(where2)
        texture = replace(texture, normalized=True, modes=(CLAMP, CLAMP, CLAMP))
    if layer is not None:
        last = depth // (6 if slices else 1) - 1
        number = np.clip(layer.astype(np.int64), 0, last)
        slices = [number * 6 + slices[0] if slices else number]
    smooth = texture.filtered or gather is not None
    axes = [texture.axis(k, x, smooth=smooth) for k, x in enumerate(where)]
    between = [np.int64(0)] * (2 - len(axes)) if slices else []
    corners = []
    for corner in product(*axes):
        numbers, weights, inside = zip(*corner, strict=True)
        held = [condition for condition in inside if condition is not True]
        within = reduce(and_, held) if held else True
        corners.append((texels(texture, [*numbers, *between, *slices], within), prod(weights)))
    if gather is not None:
        return [corners[2 * x + y][0][gather] for x, y in GATHERED]
    if not smooth:
        return corners[0][0]
    return [sum(w * v[k] for v, w in corners).astype(np.float32) for k in range(4)]


def in_surface(
    texels: Texels, layer: Lanes, where: tuple[Lanes, ...], size: int
) -> tuple[list[Lanes], Lanes, Lanes]:
    """Coordinates in a surface, the bytes from its first texel there, whether that is outside."""
    coordinates = [x.astype(np.int64) for x in where]
    if layer is not None:
        coordinates += [np.zeros((1, 1), np.int64)] * (2 - len(where))
        coordinates.append(layer.astype(np.int64))
    width, height, depth = texels.shape
    last = (width * texels.pitches[0] - size, height - 1, depth - 1)
    bytes_, outside = np.zeros((1, 1), np.int64), np.zeros((1, 1), bool)
    for x, step, end in zip(coordinates, (1, *texels.pitches[1:]), last, strict=False):
        outside = outside | (x < 0) | (x > end)
        bytes_ = bytes_ + np.clip(x, 0, np.maximum(end, 0)) * step
    return coordinates, bytes_, outside


class TextureAccess(MemoryAccess):
    """The fetches of a chunk of blocks, and its accesses to surfaces."""

    def _by_object(self, objects: Lanes, kind: type, what: str) -> Iterator[tuple[Any, Any]]:
        """Each object that active threads name, with those threads as the mask meanwhile."""
        before = self.mask
        same = objects.size == 1 or before is EMPTY
        each = objects.ravel() if same else self.active_values(objects, self.lanes(before))
        every = np.unique(each).tolist()
        try:
            for handle in every if before is not EMPTY else ():
                self.mask = split(before, objects == handle)[0]
                found = self.program.textures.get(int(handle))
                if not isinstance(found, kind):
                    who = self.who(self.mask)
                    message = f"{self.text(who[0])} names {int(handle):#x}, which is no {what}"
                    raise self.stop("out-of-bounds", message, *who)
                yield found, self.mask
        finally:
            self.mask = before

    def _merged(self, result: list[Lanes], parts: list[Lanes], here: Any) -> list[Lanes]:
        if not result or here is None:
            return parts
        return [np.where(here, p, r) for p, r in zip(parts, result, strict=True)]

    # --- textures

    def fetch(
        self, geometry: str, objects: Lanes, layer: Lanes, where: tuple[Lanes, ...],
        dtype: np.dtype[Any], gather: int | None = None,
    ) -> list[Lanes]:  # fmt: skip
        """`tex`: the four channels at coordinates.

        With `gather`, `tld4`: one channel of the four texels that a linear filter would weigh.
        """
        result: list[Lanes] = []
        for texture, here in self._by_object(objects, Texture, "texture object"):
            parts = sampled(texture, geometry, layer, where, gather, self._texels)
            result = self._merged(result, [p.view(np.uint32) for p in parts], here)
        return [part.view(dtype) for part in result] or [np.zeros((1, 1), dtype)] * 4

    def _texels(self, texture: Texture, numbers: list[Lanes], inside: Lanes) -> list[Lanes]:
        """The channels of texels by their numbers along x, y, z; the border's where outside."""
        texels, before = texture.texels, self.mask
        address = np.array([[texels.address]]) + sum(
            n * pitch for n, pitch in zip(numbers, texels.pitches, strict=False)
        )
        stored = np.dtype(f"{texels.kind}{texels.bits // 8}")
        edge = list(np.array(texture.border).astype(texture.dtype).reshape(4, 1, 1))
        values = edge
        self.mask = before if inside is True else split(before, inside)[0]
        try:
            if self.mask is not EMPTY:
                raw = self.rely(self.load("global", address, 0, stored, texels.channels))
                raw = texture.values(raw if texels.channels > 1 else raw[..., None])
                nothing = [np.zeros((1, 1), raw.dtype)] * (4 - texels.channels)
                values = [*np.moveaxis(raw, -1, 0), *nothing]
        finally:
            self.mask = before
        if inside is True:
            return values
        return [np.where(inside, v, e) for v, e in zip(values, edge, strict=True)]

    # --- surfaces

    def read_surface(
        self, mode: str, geometry: str, objects: Lanes, layer: Lanes, where: tuple[Lanes, ...],
        dtype: np.dtype[Any], count: int,
    ) -> list[Lanes]:  # fmt: skip
        """`suld.b`: numbers at x in bytes and y, z in texels."""
        result: list[Lanes] = []
        for texels, here in self._by_object(objects, Texels, "surface object"):
            size = dtype.itemsize * count
            address, outside = self._in_surface(texels, mode, layer, where, size, "reads")
            before, parts = self.mask, [np.zeros((1, 1), dtype)] * count
            self.mask = split(before, ~outside)[0]
            if self.mask is not EMPTY:
                values = self.rely(self.load("global", address, 0, dtype, count))
                values = np.moveaxis(values, -1, 0) if count > 1 else [values]
                parts = [np.where(outside, dtype.type(0), v) for v in values]
            self.mask = before
            result = self._merged(result, parts, here)
        return result or [np.zeros((1, 1), dtype)] * count

    def write_surface(
        self, mode: str, geometry: str, objects: Lanes, layer: Lanes, where: tuple[Lanes, ...],
        dtype: np.dtype[Any], values: tuple[Lanes, ...],
    ) -> None:  # fmt: skip
        """`sust.b`: writes numbers at x in bytes and y, z in texels."""
        for texels, _ in self._by_object(objects, Texels, "surface object"):
            size = dtype.itemsize * len(values)
            address, outside = self._in_surface(texels, mode, layer, where, size, "writes")
            before = self.mask
            self.mask = split(before, ~outside)[0]
            self.store("global", address, 0, dtype, values if len(values) > 1 else values[0])
            self.mask = before

    def _in_surface(
        self, texels: Texels, mode: str, layer: Lanes, where: tuple[Lanes, ...], size: int,
        verb: str,
    ) -> tuple[Lanes, Lanes]:  # fmt: skip
        """The addresses of texels in a surface, and which of them lie outside.

        Raises:
            Stop: the mode is to trap there.
        """
        coordinates, further, outside = in_surface(texels, layer, where, size)
        address = texels.address + further
        if mode == "clamp":
            return address, np.zeros((1, 1), bool)
        wrong = outside & (True if self.mask is None else self.mask)
        if mode == "trap" and wrong.any():
            self._beyond(texels, coordinates, wrong, size, verb)
        return address, outside

    def _beyond(
        self, texels: Texels, coordinates: list[Lanes], wrong: Lanes, size: int, verb: str
    ) -> None:
        lanes = np.flatnonzero(self.spread(wrong))
        who = [self.thread_name(int(n)) for n in lanes[:2]]
        index = tuple(int(self.spread(x).ravel()[lanes[0]]) for x in coordinates)
        width, *others = texels.shape[: len(index)]
        axes = [f"{axis} = {x}" for axis, x in zip("yz", index[1:], strict=False)]
        shape = " x ".join(f"{n:,}" for n in (width, *others))
        message = (
            f"{self.text(who[0])} {verb} {size} bytes of {texels.name} at "
            f"{', '.join([f'byte x = {index[0]}', *axes])}, out of bounds: it has {shape} texels "
            f"of {texels.pitches[0]} bytes{self.further(len(lanes))}"
        )
        count = len(lanes)
        self.pass_over(
            Finding("out-of-bounds", self.here(), message, who, texels.name, index, count=count)
        )
