from .reduction_figures import reduction_player as reduction_player
