"""Many ranks: real processes that really communicate, started from a notebook cell."""

from gpulearn import require

require.package("torch", "Starting ranks")
