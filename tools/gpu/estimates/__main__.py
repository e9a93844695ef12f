"""`python -m tools.gpu.estimates` compares what is recorded with the model."""

from __future__ import annotations

import sys

from tools.gpu.estimates.comparison import main

sys.exit(main())
