from .launches import graph_times as graph_times
from .launches import launch_bound as launch_bound
