from .matmul_figures import compare_gpus as compare_gpus
from .matmul_figures import matmul_explorer as matmul_explorer
from .matmul_figures import rates as rates
from .matmul_figures import times as times
