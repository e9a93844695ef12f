from .all_reduce_times import all_reduce as all_reduce
from .all_reduce_times import all_reduce_explorer as all_reduce_explorer
from .rings import ring_player as ring_player
