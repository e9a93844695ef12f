"""`python -m gpulearn.hardware`, which `make gpu` calls."""

from __future__ import annotations

import sys

from gpulearn.hardware.visit.run import main

sys.exit(main())
