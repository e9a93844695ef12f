from .matmul import matmul_loops as matmul_loops
from .matmul import round_mantissa as round_mantissa
