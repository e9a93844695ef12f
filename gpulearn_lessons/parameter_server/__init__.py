"""The exercises of notebook 24: staleness and its bound, a server that fails over, local steps."""

from gpulearn.lazy import attach

NOTEBOOK = "24_parameter_server"
EXERCISES = (
    "apply_stale_gradient",
    "bounded_staleness",
    "serve_with_backup",
    "local_sgd",
    "federated_average",
)

__getattr__, __dir__ = attach(__name__, __file__)
