"""Runs the right kernels in Numba's own simulator: `python -m tests.simt.simulate OUT.npz`.

In a process of its own, since `NUMBA_ENABLE_CUDASIM=1` must be set before numba is imported.
There `simt.cuda` is `numba.cuda`, so that the same files load.
"""

from __future__ import annotations

import copy
import os
import sys


def main(path: str) -> None:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    import numpy as np
    from numba import cuda

    import simt

    simt.cuda = cuda

    from tests.simt.right import CASES

    results = {}
    for case in CASES:
        if not case.simulator:
            continue
        args = copy.deepcopy(case.make(seed=5))
        given = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
        try:
            with np.errstate(all="ignore"):
                cuda.jit(case.kernel)[case.grid, case.block, 0, case.shared](*given)
        except Exception as error:  # what it cannot run is news, not a reason to stop
            results[f"{case.name}!"] = np.array(f"{type(error).__name__}: {error}")
            continue
        for place, array in enumerate(given):
            if hasattr(array, "copy_to_host"):
                results[f"{case.name}:{place}"] = array.copy_to_host()
    np.savez(path, **results)


if __name__ == "__main__":
    main(sys.argv[1])
