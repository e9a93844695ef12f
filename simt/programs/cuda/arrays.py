"""CUDA arrays, and the texture and surface objects of a program."""

import struct
from dataclasses import dataclass

import numpy as np

from simt.programs.cuda.errors import ApiError
from simt.programs.cuda.memory import Piece
from simt.programs.cuda.state import Answer, State
from simt.ptx.textures import Texels, Texture

HANDLE = 1 << 39  # by which an array's handle is no address of its texels
LAYERED, SURFACES, CUBE = 1, 2, 4  # flags of cudaMalloc3DArray
KINDS = "iuf"  # of a channel, by its cudaChannelFormatKind
ARRAY, LINEAR, PITCHED = 0, 2, 3  # cudaResourceType
ALIGNMENT, PITCH_ALIGNMENT = 512, 32  # bytes, of a texture's first texel and of its rows
# what a cudaDeviceAttr says of textures and surfaces: the limits of compute capability 8.0
ARRAY_LIMITS = {
    14: ALIGNMENT, 21: 131_072, 22: 131_072, 23: 65_536, 24: 16_384, 25: 16_384, 26: 16_384,
    27: 32_768, 28: 32_768, 29: 2_048, 30: ALIGNMENT, 42: 32_768, 43: 2_048, 45: 32_768, 46: 32_768,
    51: PITCH_ALIGNMENT, 52: 32_768, 53: 32_768, 54: 2_046, 55: 32_768, 56: 131_072, 57: 65_536,
    58: 16_384, 59: 16_384, 60: 16_384, 61: 32_768, 62: 2_048, 63: 32_768, 64: 32_768, 65: 2_048,
    66: 32_768, 67: 32_768, 68: 2_046, 69: 1 << 28, 70: 131_072, 71: 65_000, 72: 2_097_120,
}  # fmt: skip


@dataclass(eq=False)
class CudaArray:
    """A CUDA array: width, height, depth in texels (0: no such axis), format, flags."""

    piece: Piece
    extent: tuple[int, int, int]
    channels: tuple[int, ...]  # x, y, z, w in bits, kind
    flags: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Each axis at least 1."""
        width, height, depth = self.extent
        return width, max(height, 1), max(depth, 1)

    @property
    def pitches(self) -> tuple[int, int, int]:
        """Bytes from a texel, a row and a slice to the next."""
        texel = sum(self.channels[:4]) // 8
        return texel, self.shape[0] * texel, self.shape[0] * self.shape[1] * texel


class ArrayCalls(State):
    """`cudaMallocArray` and its kin, `cudaCreateTextureObject`, `cudaCreateSurfaceObject`."""

    def do_array(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMalloc3DArray`: its handle."""
        *extent, flags = values[:4]
        channels = struct.unpack("<5q", payload)
        _check_channels(channels)
        width, height, depth = extent
        if not width or (flags & CUBE and (width != height or depth % 6 or not depth)):
            of = "a cube of " if flags & CUBE else ""
            shape = " x ".join(map(str, extent))
            raise ApiError(f"an array for {of}{shape} texels is asked for")
        texel = sum(channels[:4]) // 8
        piece = self.memory.take(width * max(height, 1) * max(depth, 1) * texel, line)
        piece.kind, piece.surfaces, piece.allocation.tiled = "array", bool(flags & SURFACES), True
        array = CudaArray(piece, (width, height, depth), channels, flags)
        self._name(line, piece)
        self._arrays[piece.address + HANDLE] = array
        return Answer(piece.address + HANDLE)

    def _array(self, handle: int) -> CudaArray:
        array: CudaArray | None = self._arrays.get(handle)
        if array is None or array.piece.freed:
            what = self.memory.of_pointer(handle)
            raise ApiError(f"{what} is given for a CUDA array", "cudaErrorInvalidResourceHandle")
        return array

    def do_free_array(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaFreeArray`: it waits for all work before."""
        if values[0]:
            self.queue.synchronize()
            self.memory.free(self._array(values[0]).piece, line)

    def do_array_info(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The extent, the format and the flags of an array."""
        array = self._array(values[0])
        return Answer(0, struct.pack("<9q", *array.extent, *array.channels, array.flags))

    def do_array_part(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Where a part of an array lies, for a copy; and the bytes of texels, rows and slices.

        The part begins at x, y, z and is width x height x depth large; x and width are in texels
        with 1 as the first value behind the handle, else in bytes.
        """
        handle, in_texels, *numbers = values
        array = self._array(handle)
        unit = array.pitches[0] if in_texels else 1
        x, y, z, width, height, depth = numbers
        row, rows, slices = array.pitches[1], *array.shape[1:]
        if (x + width) * unit > row or y + height > rows or z + depth > slices:
            raise ApiError(
                f"the copy takes {width * unit:,} bytes of {height:,} rows of {depth:,} slices "
                f"from ({x * unit:,}, {y:,}, {z:,}) on, and {array.piece} has {row:,} bytes of "
                f"{rows:,} rows of {slices:,} slices",
            )
        where = array.piece.address + x * unit + y * row + z * array.pitches[2]
        return Answer(where, struct.pack("<3Q", *array.pitches))

    # --- objects

    def do_surface(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaCreateSurfaceObject` of an array."""
        array = self._array(values[0])
        if not array.flags & SURFACES:
            raise ApiError(
                f"a surface object is made of {array.piece}, which was made without "
                "cudaArraySurfaceLoadStore",
            )
        return self._object(_texels(array.piece, array.shape, array.pitches, array.channels))

    def do_texture(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaCreateTextureObject`: what it reads, and how, as `simt_arrays.h` packs it."""
        numbers = struct.unpack("<20q", payload)
        kind, pointer, *channels = numbers[:7]
        width, height, pitch, *modes = numbers[7:13]
        filtered, floats, normalized = map(bool, numbers[13:16])
        border = tuple(np.array(numbers[16:], np.uint32).view(np.float32))
        if kind == ARRAY:
            array = self._array(pointer)
            texels = _texels(array.piece, array.shape, array.pitches, array.channels)
        else:
            texels = self._in_memory(kind, pointer, tuple(channels), (width, height, pitch))
        if floats and (texels.kind == "f" or texels.bits == 32):
            floats = False  # as they are
        if filtered and texels.kind != "f" and not floats and kind != LINEAR:
            raise ApiError(
                "a linear filter needs float texels, or cudaReadModeNormalizedFloat",
                "cudaErrorInvalidFilterSetting",
            )
        return self._object(
            Texture(texels, (modes[0], modes[1], modes[2]), filtered, normalized, floats, border)
        )

    def _in_memory(
        self, kind: int, pointer: int, channels: tuple[int, ...], extent: tuple[int, int, int]
    ) -> Texels:
        """The texels of linear or pitched memory."""
        _check_channels(channels)
        piece, texel = self.memory.at(pointer), sum(channels[:4]) // 8
        width, height, pitch = extent
        if kind == LINEAR:
            width, height, pitch = width // texel, 1, width
        end = (height - 1) * pitch + width * texel
        if piece is None or pointer - piece.address + end > piece.size:
            what = self.memory.of_pointer(pointer)
            raise ApiError(f"a texture takes {end:,} bytes of {what}")
        if pointer % ALIGNMENT or (kind == PITCHED and pitch % PITCH_ALIGNMENT):
            raise ApiError(
                f"a texture begins at a multiple of {ALIGNMENT} bytes and its rows lie a multiple "
                f"of {PITCH_ALIGNMENT} apart: this one begins at byte {pointer - piece.address:,} "
                f"of {piece}, its pitch is {pitch:,}",
            )
        return _texels(piece, (width, height, 1), (texel, pitch, pitch * height), channels, pointer)

    def _object(self, thing: Texels | Texture) -> Answer:
        handle = next(self._handles)
        self.memory.textures[handle] = thing
        return Answer(handle)

    def do_no_object(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """The end of a texture or surface object."""
        if self.memory.textures.pop(values[0], None) is None:
            raise ApiError(f"there is no object {values[0]:#x} to destroy")


def _check_channels(channels: tuple[int, ...]) -> None:
    bits = [n for n in channels[:4] if n]
    right = len(bits) in (1, 2, 4) and len({*bits}) == 1 and bits[0] in (8, 16, 32)
    if not right or not 0 <= channels[4] < 3 or (channels[4] == 2 and bits[0] == 8):
        raise ApiError(
            "texels have 1, 2 or 4 channels of 8, 16 or 32 bits each, got "
            f"{', '.join(map(str, channels[:4]))} of cudaChannelFormatKind {channels[4]}",
            "cudaErrorInvalidChannelDescriptor",
        )


def _texels(
    piece: Piece, shape: tuple[int, int, int], pitches: tuple[int, int, int],
    channels: tuple[int, ...], address: int | None = None,
) -> Texels:  # fmt: skip
    name = piece.name or piece.variable or f"array_of_line_{piece.line}"
    count = sum(n > 0 for n in channels[:4])
    where = piece.address if address is None else address
    return Texels(name, where, shape, pitches, KINDS[channels[4]], channels[0], count)
