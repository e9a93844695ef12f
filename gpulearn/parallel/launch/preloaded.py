"""What the server imports before it is copied for each rank.

Nothing of it is ever garbage. To look for some there costs the server 0.4 s while it imports and
0.6 s when it ends, and a rank 0.2 s each time, which has to copy what it looks at.
"""

import gc

gc.disable()

import cloudpickle  # noqa: E402, F401
import torch._dynamo  # noqa: E402 - the first optimizer of a process does: 1.5 s, and 120 MB
import torch.distributed  # noqa: E402, F401

import gpulearn.parallel.launch.rank  # noqa: E402, F401

gc.freeze()
gc.enable()
