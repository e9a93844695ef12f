"""`python -m tools.gpu`, which `make gpu` calls."""

from __future__ import annotations

import sys

from tools.gpu.runner.run import main

sys.exit(main())
