from .matmul_figures import compare_gpus as compare_gpus
from .matmul_figures import rates as rates
from .matmul_figures import times as times
