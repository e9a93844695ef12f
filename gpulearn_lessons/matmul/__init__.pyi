from .ladder import ladder_counts as ladder_counts
from .ladder_figures import compare_rungs as compare_rungs
from .ladder_figures import ladder_explorer as ladder_explorer
from .rung_rates import kernel_roofs as kernel_roofs
from .tiles import halo as halo
from .tiles import product_scheme as product_scheme
from .tiles import tile as tile
