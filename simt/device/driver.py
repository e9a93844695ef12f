"""What the NVIDIA driver says of its GPUs and of itself, through its own libraries.

Nothing but the standard library is needed.
"""

import ctypes
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU as its driver describes it; memory in bytes, capability as (major, minor)."""

    name: str
    memory: int
    capability: tuple[int, int]
    driver: str

    def __str__(self) -> str:
        return f"{self.name} ({self.memory / 2**30:.0f} GiB, driver for CUDA {self.driver})"


def cuda_library() -> ctypes.CDLL | None:
    """The NVIDIA driver's library, or None where there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def gpus(library: ctypes.CDLL | None = None) -> tuple[Gpu, ...]:
    """The GPUs that the NVIDIA driver lists; empty where there is no driver or no GPU.

    The calls are those of the CUDA driver API (cuInit, cuDeviceGetCount, …).
    """
    library = library or cuda_library()
    if library is None or library.cuInit(0) != 0:
        return ()
    count, cuda = ctypes.c_int(), ctypes.c_int()
    if library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return ()
    library.cuDriverGetVersion(ctypes.byref(cuda))
    driver = f"{cuda.value // 1000}.{cuda.value % 1000 // 10}"
    return tuple(_describe(library, number, driver) for number in range(count.value))


def _describe(library: ctypes.CDLL, number: int, driver: str) -> Gpu:
    device, memory = ctypes.c_int(), ctypes.c_size_t()
    major, minor = ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(128)
    library.cuDeviceGet(ctypes.byref(device), number)
    library.cuDeviceGetName(name, len(name), device)
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    library.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # COMPUTE_CAPABILITY_MAJOR
    library.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)  # COMPUTE_CAPABILITY_MINOR
    return Gpu(name.value.decode(), memory.value, (major.value, minor.value), driver)


def version(library: ctypes.CDLL | None = None) -> str:
    """The version of the NVIDIA driver, such as "580.65.06", by its management library (NVML)."""
    name = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
    try:
        library = library or ctypes.CDLL(name)
    except OSError:
        return "unknown"
    buffer = ctypes.create_string_buffer(96)
    library.nvmlInit_v2()
    if library.nvmlSystemGetDriverVersion(buffer, len(buffer)) != 0:
        return "unknown"
    return buffer.value.decode()
