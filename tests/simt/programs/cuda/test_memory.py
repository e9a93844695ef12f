"""Memory of a CUDA program: what there is of it, and what an address is."""

import numpy as np
import pytest

from simt.core.memory import Allocation
from simt.programs.cuda.errors import ApiError
from simt.programs.cuda.memory import DEVICE, GLOBAL_BITS, SHARED, DeviceMemory


def test_memory_ends_and_comes_back_when_it_is_freed(tmp_path):
    memory = DeviceMemory(tmp_path)
    memory.total = 1_000
    piece = memory.take(1_000, 3)
    with pytest.raises(ApiError, match="1 bytes are asked for, and 0 of 1,000 are free"):
        memory.take(1, 4)
    memory.free(piece, 5)
    assert memory.used_bytes == 0
    assert memory.of_pointer(1 << 60) == "no memory of the device's"


def test_memory_that_a_kernel_makes_has_other_addresses_than_the_program_s():
    number = Allocation("global", np.zeros(16, np.uint8)).address >> GLOBAL_BITS
    assert number not in SHARED
    assert number > DEVICE + 10**6  # and so many pieces later


def test_shared_memory_is_a_file_whose_number_is_used_again(tmp_path):
    memory = DeviceMemory(tmp_path)
    pieces = [memory.share("managed", 8, 1) for _ in SHARED]
    assert len({piece.address for piece, _ in pieces}) == len(SHARED)
    with pytest.raises(ApiError, match=f"there are {len(SHARED)} pieces of managed and pinned"):
        memory.share("pinned", 8, 2)
    piece, file = pieces[7]
    file.write_bytes(b"12345678")
    assert piece.allocation.data.tobytes() == b"12345678"
    memory.free(piece, 3)
    assert not file.exists()
    again, _ = memory.share("pinned", 0, 4)
    assert again.address == piece.address


def test_a_quarter_of_the_computer_s_memory_is_the_device_s(tmp_path, monkeypatch):
    sizes = {"SC_PHYS_PAGES": 1 << 24, "SC_PAGE_SIZE": 1 << 12}
    monkeypatch.setattr("os.sysconf", sizes.__getitem__)
    assert DeviceMemory(tmp_path).total == 1 << 34
    sizes["SC_PHYS_PAGES"] = 1 << 19
    assert DeviceMemory(tmp_path).total == 1 << 30  # never less
