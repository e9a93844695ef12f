"""`simt.replace_numba_cuda`: every way to import `numba.cuda` leads to the machine, and back."""

import builtins
import importlib
import subprocess
import sys

import numba
import numpy as np
import pytest

import simt
from simt.host import api

NUMBA_CUDA_INSTALLED = importlib.util.find_spec("numba_cuda") is not None


@pytest.fixture
def switched():
    with simt.replace_numba_cuda():
        yield


def scope(source):
    """The names that a program binds; it is no module of this package."""
    found = {"__name__": "a_program"}
    exec(compile(source, "<a program>", "exec"), found)
    return found


IMPORTS = [
    "from numba import cuda",
    "import numba; cuda = numba.cuda",
    "import numba as nb; cuda = nb.cuda",
    "import numba.cuda as cuda",
    "import numba.cuda; cuda = numba.cuda",
    "import numba.cuda.random, numba; cuda = numba.cuda",
    "import importlib; cuda = importlib.import_module('numba.cuda')",
    "import importlib; cuda = importlib.import_module('.cuda', 'numba')",
    "cuda = __import__('numba.cuda').cuda",
    "cuda = __import__('numba.cuda', fromlist=['jit'])",
    "from numba import *; import numba; cuda = numba.cuda",
]


@pytest.mark.parametrize("source", IMPORTS)
def test_every_import_of_the_module_gives_the_machine(switched, source):
    assert scope(source)["cuda"] is api


SUCCESSOR = [
    "from numba_cuda_mlir import cuda",
    "import numba_cuda_mlir; cuda = numba_cuda_mlir.cuda",
    "import numba_cuda_mlir.cuda as cuda",
    "import importlib; cuda = importlib.import_module('numba_cuda_mlir.cuda')",
    "import numba_cuda_mlir.cuda.random, numba_cuda_mlir as nb; cuda = nb.cuda",
]


@pytest.mark.parametrize("source", SUCCESSOR)
def test_numba_cudas_successor_is_the_machine_and_that_is_said_once(switched, source):
    with pytest.warns(UserWarning, match="^numba_cuda_mlir is the SIMT machine here") as told:
        assert scope(source)["cuda"] is api
    assert [w.filename for w in told] == ["<a program>"]
    found = scope("from numba_cuda_mlir.numba_cuda.types import float32\n"
                  "from numba_cuda_mlir import types\n")  # fmt: skip
    assert found["float32"] is found["types"].float32 is numba.float32


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_options_of_the_successor_for_its_compiler_are_taken(switched):
    found = scope(
        "from numba_cuda_mlir import cuda\n"
        "@cuda.jit(dump=False, opt_level=2)\n"
        "def fill(a):\n"
        "    a[cuda.threadIdx.x] = 1\n"
    )
    a = np.zeros(2)
    found["fill"][1, 2](a)
    assert a.tolist() == [1, 1]


def test_a_module_of_a_like_name_is_looked_for_where_it_is(switched):
    with pytest.raises(ModuleNotFoundError, match="numba_cuda_mlirs"):
        scope("import numba_cuda_mlirs")


def test_names_of_the_module_are_the_machines(switched):
    every = scope("from numba.cuda import *")
    for name in ("jit", "to_device", "grid", "shared", "In", "threadIdx", "stream", "synchronize"):
        assert scope(f"from numba.cuda import {name}")[name] is every[name] is getattr(api, name)


def test_names_of_its_modules_are_the_machines_where_it_has_them(switched):
    found = scope(
        "from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32\n"
        "from numba.cuda.cudadrv.devicearray import DeviceNDArray\n"
        "from numba.cuda.cudadrv.driver import driver\n"
        "from numba.cuda.cudadrv import devices, error\n"
        "from numba.cuda.args import InOut\n"
        "import numba.cuda.random as r\n"
        "from numba.cuda.kernels.transpose import transpose\n"
    )
    assert found["create_xoroshiro128p_states"] is api.create_xoroshiro128p_states
    assert found["r"].create_xoroshiro128p_states is api.create_xoroshiro128p_states
    assert found["xoroshiro128p_uniform_float32"].py_func
    assert found["DeviceNDArray"] is api.DeviceNDArray
    assert found["InOut"] is api.InOut
    assert found["transpose"] is api.transpose
    assert found["devices"].get_context() is api.current_context()
    assert found["driver"].get_device_count() == 1
    assert issubclass(found["error"].CudaSupportError, ImportError | Exception)


def test_the_rest_is_numbas_own(switched):
    import numba

    found = scope(
        "import numba\n"
        "from numba import cuda, njit, types, typed, float32\n"
        "from numba.core import errors\n"
        "from numba.cuda import libdevice, types as cuda_types"
    )
    real = sys.modules["numba"]
    assert numba is not real  # this module is a program too
    assert found["njit"] is real.njit
    assert found["types"] is real.types
    assert found["errors"] is sys.modules["numba.core.errors"]
    assert found["cuda"].float32 is found["float32"] is real.float32
    assert found["cuda"].types.int32 is found["cuda_types"].int32
    assert found["libdevice"].sinf is sys.modules["numba.cuda.libdevice"].sinf
    assert found["numba"].__version__ == real.__version__
    assert set(dir(real)) <= set(dir(found["numba"]))
    with pytest.raises(AttributeError, match="njitt"):
        _ = found["numba"].njitt


def test_nothing_stays_replaced():
    before = builtins.__import__, importlib.import_module
    outer = simt.replace_numba_cuda()
    with simt.replace_numba_cuda():
        assert builtins.__import__ is not before[0]
        assert api.is_available()
    assert scope("from numba import cuda")["cuda"] is api  # the first is still there
    outer.undo()
    outer.undo()
    assert (builtins.__import__, importlib.import_module) == before
    assert scope("from numba import cuda")["cuda"] is sys.modules["numba.cuda"]
    assert not api.is_available()
    assert "own again" in repr(outer)


def test_it_is_undone_where_the_block_fails():
    before = builtins.__import__
    with pytest.raises(ZeroDivisionError), simt.replace_numba_cuda():
        _ = 1 / 0
    assert builtins.__import__ is before


PROGRAM = """
import math
import numpy as np
import numba
import numba as nb
from numba import cuda, guvectorize, vectorize
from numba.cuda import libdevice
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
import numba.cuda as c

@numba.cuda.jit
def kernel(a, states):
    i = numba.cuda.grid(1)
    if i < a.size:
        u = xoroshiro128p_uniform_float32(states, i)
        a[i] = libdevice.floorf(numba.float32(u)) + nb.float32(i) + c.blockIdx.x - cuda.blockIdx.x

a = np.ones(50, np.float32)
kernel[2, 32](a, create_xoroshiro128p_states(64, seed=1))

@vectorize(["float32(float32)"], target="cuda")
def twice(x):
    return x * 2

@vectorize(["float32(float32)"])
def thrice(x):
    return x * 3

@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
def backwards(x, out):
    for i in range(x.shape[0]):
        out[i] = x[x.shape[0] - 1 - i]
"""


def test_a_program_runs_beside_ordinary_numba(switched, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    found = {"__name__": "a_program"}
    exec(compile(PROGRAM, path, "exec"), found)
    a = np.arange(50, dtype=np.float32)
    assert found["a"].tolist() == a.tolist()
    assert found["twice"](a).tolist() == (2 * a).tolist()
    assert found["thrice"](a).tolist() == (3 * a).tolist()
    assert type(found["thrice"]).__name__ == "DUFunc"
    assert found["backwards"](a).tolist() == a[::-1].tolist()


def test_what_is_set_on_a_module_reaches_numbas_own(switched):
    config = scope("from numba import cuda; config = cuda.config")["config"]
    real = sys.modules[config.__name__]
    before = real.CUDA_LOW_OCCUPANCY_WARNINGS
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 7
    assert real.CUDA_LOW_OCCUPANCY_WARNINGS == config.CUDA_LOW_OCCUPANCY_WARNINGS == 7
    config.CUDA_LOW_OCCUPANCY_WARNINGS = before


def test_a_program_that_asks_finds_a_device(switched, capsys):
    found = scope(
        "from numba import cuda\n"
        "device = cuda.get_current_device()\n"
        "limits = device.MAX_THREADS_PER_BLOCK, device.WARP_SIZE, device.MULTIPROCESSOR_COUNT\n"
        "name = device.name.decode()\n"
        "with cuda.gpus[0] as gpu: free, total = cuda.current_context().get_memory_info()\n"
        "cuda.current_context().deallocations.clear()\n"
        "found = cuda.is_available(), cuda.detect(), len(cuda.gpus), cuda.gpus.current.id\n"
    )
    assert found["limits"] == (1024, 32, 1)
    assert found["name"] == "SIMT machine"
    assert found["free"] <= found["total"]
    assert found["found"] == (True, True, 1, 0)
    assert "Found 0 CUDA devices" in capsys.readouterr().out
    with pytest.raises(AttributeError, match="the SIMT machine has no MAX_PITCH"):
        _ = found["device"].MAX_PITCH


def test_what_was_imported_before_is_told():
    code = (
        "from numba import cuda, njit; import math, simt\n"
        "simt.replace_numba_cuda(); simt.replace_numba_cuda().undo()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "cuda was imported before replace_numba_cuda() and stays Numba's" in done.stderr
    assert done.returncode == 0


def test_numba_itself_goes_on_with_its_own():
    """The type check imports parts of Numba while the switch is on, and may be the first to."""
    code = (
        "import simt; simt.replace_numba_cuda()\n"
        "from numba import cuda; import numba.cuda.dispatcher, sys\n"
        "real = sys.modules['numba.cuda']\n"
        "print(type(real).__name__, real.jit.__module__, cuda.jit.__module__.partition('.')[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["module", "numba.cuda.decorators", "simt"]


@pytest.mark.skipif(not NUMBA_CUDA_INSTALLED, reason="another module in Numba's own target")
def test_names_that_need_a_gpu_are_refused_by_a_sentence(switched):
    cuda = scope("from numba import cuda")["cuda"]
    with pytest.raises(NotImplementedError, match="set_memory_manager: the SIMT machine keeps"):
        cuda.set_memory_manager(None)
    with pytest.raises(NotImplementedError, match="open_ipc_array: memory of the SIMT machine"):
        cuda.open_ipc_array(None, 3, "f4")
    with pytest.raises(AttributeError, match="cuda.gridd is not part of the SIMT machine"):
        _ = cuda.gridd


MADE = """
def make(op):
    text = "def kernel(a):\\n    \\n    a[0] = a[0] " + op + " 3\\n"
    names = {}
    exec(text, names)
    return names["kernel"]
"""


def test_a_kernel_that_exec_makes_has_its_text_there(switched):
    found = scope(MADE)
    kernels = {op: api.jit(found["make"](op)) for op in "+-*"}
    for op, expected in {"+": 8.0, "-": 2.0, "*": 15.0}.items():  # all of the same name and line
        a = np.full(1, 5.0)
        kernels[op][1, 1](a)
        assert a[0] == expected
    report = simt.xray(kernels["-"])[1, 1](np.zeros(1))
    assert report.lines[3].instructions
