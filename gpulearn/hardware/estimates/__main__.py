"""`python -m gpulearn.hardware.estimates` compares what is recorded with the model."""

from __future__ import annotations

import sys

from gpulearn.hardware.estimates.comparison import main

sys.exit(main())
