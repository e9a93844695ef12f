from . import (
    cuda as cuda,
)
from . import (
    data as data,
)
from . import (
    errors as errors,
)
from . import (
    kernels as kernels,
)
from . import (
    nn as nn,
)
from . import (
    optim as optim,
)
from . import (
    parallel as parallel,
)
from . import (
    perf as perf,
)
from . import (
    plot as plot,
)
from . import (
    scaling as scaling,
)
from . import (
    simt as simt,
)
from . import (
    train as train,
)
from .data.digits import digits as digits
from .device.accelerators import accelerator as accelerator
from .device.selection import banner as banner
from .display import show as show
from .exercise.check import check as check
from .exercise.overview import exercises as exercises
from .exercise.overview import progress as progress
from .exercise.overview import solution as solution
from .kernels.indexing import blocks_for as blocks_for
from .kernels.matmul import matmul_flops as matmul_flops
from .kernels.precision import relative_error as relative_error
from .kernels.precision import round_mantissa as round_mantissa
from .parallel.export.to_torchrun import to_torchrun as to_torchrun
from .parallel.launch.launch import launch as launch
from .parallel.simulate.simulate import simulate as simulate
from .perf.estimates import estimate as estimate
from .perf.gpus import gpu_spec as gpu_spec
from .perf.measured_roof import measured_roof as measured_roof
from .perf.roofline import roof as roof
from .perf.timing import format_seconds as format_seconds
from .perf.timing import measure as measure
from .plot.counters import compare_reports as compare_reports
from .plot.photo import photo as photo
from .plot.photo import show_images as show_images
from .simt.host.settings import block_order as block_order
from .simt.host.settings import unchecked as unchecked
from .simt.host.xray import xray as xray
from .tables import table as table
from .train.fit import fit as fit

__version__: str
