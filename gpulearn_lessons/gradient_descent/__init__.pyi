from .step_limits import directions as directions
from .step_limits import momentum_plane as momentum_plane
from .step_limits import rate_explorer as rate_explorer
