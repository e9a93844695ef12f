from .convolutions import convolution_explorer as convolution_explorer
from .graphs import graph_player as graph_player
