"""Memory of a CUDA program: what there is of it, and what an address is."""

import numpy as np
import pytest

from simt.programs.cuda.errors import ERRORS, ApiError, number_of
from simt.programs.cuda.memory import SHARED, DeviceMemory, written


def test_memory_ends_and_comes_back_when_it_is_freed(tmp_path):
    memory = DeviceMemory(tmp_path)
    piece = memory.take(memory.total, 3)
    with pytest.raises(ApiError, match="1 bytes are asked for, and 0 of .* are free") as error:
        memory.take(1, 4)
    assert ERRORS[error.value.number] == ("cudaErrorMemoryAllocation", "out of memory")
    memory.free(piece, 5)
    assert memory.used_bytes == 0
    assert memory.of_pointer(piece.address + 8).endswith("from line 3), freed in line 5")
    assert memory.at(piece.address) is None


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


def test_an_address_in_words(tmp_path):
    memory = DeviceMemory(tmp_path)
    piece = memory.take(8, 3)
    assert memory.of_pointer(0) == "a null pointer"
    assert memory.of_pointer(0x7FFE_1234_5678) == "memory of the host"
    assert memory.of_pointer(piece.address + 100) == "device memory (8 bytes from line 3)"
    assert memory.of_pointer(1 << 60) == "no memory of the device's"
    assert number_of("cudaErrorIllegalAddress") == 700


def test_only_what_is_copied_counts_as_written(tmp_path):
    piece = DeviceMemory(tmp_path).take(10, 3)
    assert np.isnan(piece.allocation.data[:8].view(np.float32)).all()
    written(piece, 4, np.arange(3, dtype=np.uint8))
    assert piece.allocation.data[4:7].tolist() == [0, 1, 2]
    assert np.flatnonzero(piece.allocation.written.done).tolist() == [4, 5, 6]
