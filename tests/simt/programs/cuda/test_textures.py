"""Textures and surfaces: what a fetch gives, and what is found in programs that use them."""

import math
from contextlib import nullcontext

import numpy as np
import pytest

import simt
from simt.programs.launches import Launches
from simt.ptx.native.launch import left_to_executor

from .test_programs import HERE, is_said

pytestmark = pytest.mark.usefixtures("_host_compiler")
FILE = HERE / "textures.cu"
OPTIONS = ["-w"]  # some copies are deprecated
GEOMETRIES = ("linear", "1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "gather")
WRAP, CLAMP, MIRROR, BORDER = range(4)
PLACES = 150
# format: type and channels of a texel
FORMATS = {
    "float": ("f4", 1), "float4": ("f4", 4), "uchar4": ("u1", 4), "short2": ("i2", 2),
    "uint": ("u4", 1),
}  # fmt: skip


# --- what a fetch gives: the formulas of "Texture Fetching", one place at a time


def along(x, count, mode, normalized, smooth):
    """The texels along an axis and their weights; None for one outside that is the border's."""
    x = float(np.float32(x))
    if normalized:
        if mode == WRAP:
            x -= math.floor(x)
        elif mode == MIRROR:
            whole = math.floor(x)
            x = x - whole if whole % 2 == 0 else 1 - (x - whole)
        x = float(np.float32(x) * np.float32(count))
    weights = {math.floor(x): 1.0}
    if smooth:
        i = math.floor(x - 0.5)
        alpha = math.floor((x - 0.5 - i) * 256 + 0.5) / 256
        weights = {i: 1 - alpha, i + 1: alpha}
    texels = []
    for i, weight in weights.items():
        if mode == BORDER and not 0 <= i < count:
            texels.append((None, weight))
        elif mode == WRAP and normalized:
            texels.append((i % count, weight))
        else:
            texels.append((min(max(i, 0), count - 1), weight))
    return texels


def fetched(geometry, texels, place, mode, smooth, normalized):
    """The channels at one place; texels are (depth, height, width, channels) numbers."""
    depth, height, width = texels.shape[:3]
    border = np.array([0.5, 2, 0, 0])[: texels.shape[3]]
    x, y, z, layer = place
    if geometry == "linear":
        i = int(x)
        return texels[0, 0, i] if 0 <= i < width else 0 * border
    first = 0
    if "cube" in geometry:
        axis = max(range(3), key=lambda k: (abs(place[k]), -k))
        m = place[axis]
        s, t = {
            (0, False): (-z, -y), (0, True): (z, -y), (1, False): (x, z), (1, True): (x, -z),
            (2, False): (x, -y), (2, True): (-x, -y),
        }[axis, bool(m < 0)]  # fmt: skip
        first = 2 * axis + (m < 0)
        x, y = (s / abs(m) + 1) / 2, (t / abs(m) + 1) / 2
        normalized, mode, layers = True, CLAMP, depth // 6
        first += 6 * min(max(int(layer), 0), layers - 1) if geometry == "acube" else 0
    elif geometry in ("a1d", "a2d"):
        first = min(max(int(layer), 0), depth - 1)
    smooth = smooth or geometry == "gather"
    along_x = along(x, width, mode, normalized, smooth)
    flat = geometry in ("1d", "a1d")
    along_y = [(0, 1.0)] if flat else along(y, height, mode, normalized, smooth)
    along_z = along(z, depth, mode, normalized, smooth) if geometry == "3d" else [(first, 1.0)]
    if geometry == "gather":
        parts = [(along_x[a][0], along_y[b][0]) for a, b in ((0, 1), (1, 1), (1, 0), (0, 0))]
        return np.array([border[1] if None in p else texels[0, p[1], p[0], 1] for p in parts])
    return sum(
        wx * wy * wz * (border if None in (i, j, k) else texels[k, j, i])
        for i, wx in along_x for j, wy in along_y for k, wz in along_z
    )  # fmt: skip


# geometry, width, height, depth, format, address mode, linear filter, as floats, normalized
CASES = [
    ("linear", 37, 0, 0, "float", CLAMP, 0, 0, 0),
    ("linear", 37, 0, 0, "short2", CLAMP, 0, 0, 0),
    ("1d", 13, 0, 0, "float", WRAP, 1, 0, 1),
    ("1d", 13, 0, 0, "uint", MIRROR, 0, 0, 1),
    ("2d", 9, 7, 0, "float", WRAP, 1, 0, 1),
    ("2d", 9, 7, 0, "float4", MIRROR, 1, 0, 1),
    ("2d", 9, 7, 0, "float4", BORDER, 1, 0, 0),
    ("2d", 9, 7, 0, "uchar4", CLAMP, 1, 1, 0),
    ("2d", 9, 7, 0, "short2", WRAP, 0, 0, 0),  # as CLAMP, since coordinates are not normalized
    ("2d pitched", 9, 7, 0, "uchar4", WRAP, 1, 1, 1),
    ("2d pitched", 9, 7, 0, "float", CLAMP, 0, 0, 0),
    ("3d", 5, 4, 3, "float", WRAP, 1, 0, 1),
    ("3d", 5, 4, 3, "short2", BORDER, 1, 1, 0),
    ("a1d", 6, 0, 4, "float", CLAMP, 1, 0, 1),
    ("a2d", 6, 5, 4, "float", WRAP, 1, 0, 1),
    ("cube", 6, 6, 6, "float", WRAP, 0, 0, 1),
    ("acube", 6, 6, 12, "float", WRAP, 1, 0, 1),
    ("gather", 9, 7, 0, "float4", BORDER, 0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c)))
def test_a_fetch_gives_what_the_guide_s_formulas_give(case, program, tmp_path):
    geometry, width, height, depth, form, mode, smooth, floats, normalized = case
    kind, channels = FORMATS[form]
    rng = np.random.default_rng(7)
    shape = max(depth, 1), max(height, 1), width, channels
    if kind == "f4":
        texels = rng.normal(size=shape).astype(kind)
    else:
        limits = np.iinfo(kind)
        texels = rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
    places = rng.uniform(-1.5, 2.5, (PLACES, 4)).astype("f4")
    if not normalized and "cube" not in geometry:
        places[:, :3] *= np.array([width, max(height, 1), max(depth, 1)], "f4") / 2
        places[:, :3] += 1
    places[:, 3] = rng.integers(-1, max(depth, 1) + 1, PLACES)
    (tmp_path / "in").write_bytes(texels.tobytes() + places.tobytes())
    name, _, pitched = geometry.partition(" ")
    numbers = (GEOMETRIES.index(name), width, height, depth, mode, smooth, floats, normalized)
    words = ["fetch", str(tmp_path / "in"), str(tmp_path / "out"), form]
    words += [str(int(n)) for n in (*numbers, PLACES, pitched == "pitched")]
    values = texels.astype(float)
    if floats:
        values = np.maximum(values.astype("f4") / np.float32(np.iinfo(kind).max), -1).astype(float)
    expected = np.array([fetched(name, values, p, mode, smooth, normalized) for p in places])
    result_kind = "f4" if floats else kind
    for engine in (nullcontext, simt.unchecked):
        launches = Launches(in_detail=False)
        with engine():
            assert program.run(words, launches, captured=True) == 0
        assert launches.sentences() == []
        result = np.fromfile(tmp_path / "out", result_kind).reshape(PLACES, -1)
        if smooth:
            np.testing.assert_allclose(result, expected, rtol=2e-7, atol=1e-7)
        else:
            assert (result == expected.astype(result_kind)).all()
        assert len(np.unique(result)) > 4
    assert {"fetch", "gather"}.isdisjoint(left_to_executor)


# --- surfaces, and what goes wrong

PRINTED = {  # lines; what is found, by the mark of its line
    "surfaces": (["0 wrong: 15 0 0 7 63"], {}),
    "volumes": (["7 9 9 11, 8 x 6 x 3, 3"], {}),
    "outside": (["wait: cudaErrorIllegalAddress"], {
        "outside": "thread (0, 6) of block 0 writes 4 bytes of array at byte x = 0, y = 6, out of "
        "bounds: it has 8 x 6 texels of 4 bytes (and 7 more threads)"}),
    "askew": (["wait: cudaErrorMisalignedAddress"], {
        "x in texels": "accesses 4 bytes at once from byte 1 of array on"}),
    "unset": (["wait: cudaSuccess"], {
        "reads": "reads array[16] in global memory, which nobody has written", "": "no result"}),
    "freed": (["wait: cudaErrorIllegalAddress"], {
        "reads again": "it is a CUDA array (192 bytes from line"}),
    "race": (["wait: cudaSuccess"], {
        "fetched": "race on array[7] in global memory: thread 7 of block 0 writes it", "": "no"}),
    "streams": (["wait: cudaSuccess"], {
        "other stream": "in_texels on one writes array, which reads of line", "": "no result"}),
    "bindless": (["8 25 10 27 12 29 14 31 27 12", "wait: cudaErrorIllegalAddress"], {
        "chosen": "which is no texture object"}),
    "calls": ([
        "odd: cudaErrorInvalidValue", "odd: cudaErrorInvalidChannelDescriptor",
        "filter: cudaErrorInvalidFilterSetting", "surface: cudaErrorInvalidValue",
        "copy: cudaErrorInvalidValue", "row: cudaErrorInvalidValue",
        "askew: cudaErrorInvalidValue", "large: cudaErrorInvalidValue",
        "free: cudaErrorInvalidValue", "free: cudaSuccess",
        "again: cudaErrorInvalidResourceHandle", "destroy: cudaErrorInvalidValue",
    ], {
        "no width": "an array for 0 x 3 x 0 texels is asked for",
        "format": "texels have 1, 2 or 4 channels of 8, 16 or 32 bits each, got 24, 0, 0, 0",
        "filter": "a linear filter needs float texels, or cudaReadModeNormalizedFloat",
        "surface": "which was made without cudaArraySurfaceLoadStore",
        "pointer": "which is no pointer: copy with cudaMemcpy2DToArray and its kin",
        "row": "takes 64 bytes of 1 rows of 1 slices from (8, 0, 0) on",
        "alignment": "this one begins at byte 4 of device memory",
        "too large": "a texture takes 4,160 bytes of device memory (4,096 bytes",
        "cudaFree": ": give it to cudaFreeArray",
        "again": "is given for a CUDA array",
        "object": "there is no object 0x5 to destroy",
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_surfaces_and_what_goes_wrong_with_them(name, program, capsys):
    printed, found = PRINTED[name]
    launches = Launches(in_detail=False)
    assert program.run([name], launches, captured=True) == 0
    assert capsys.readouterr().out.splitlines() == printed
    is_said(launches.sentences(), found, "textures.cu")
    with simt.unchecked():
        assert program.run([name], Launches(in_detail=False), captured=True) == 0
    assert capsys.readouterr().out.splitlines() == printed
