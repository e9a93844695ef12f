"""Many ranks: real processes that really communicate, started from a notebook cell."""

from gpulearn import _require

_require.package("torch", "Starting ranks")
