from .ladder import ladder_counts as ladder_counts
from .ladder import ladder_reports as ladder_reports
from .matmul import matmul_loops as matmul_loops
from .precision import round_mantissa as round_mantissa
