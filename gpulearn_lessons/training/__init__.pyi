from .training_runs import training_board as training_board
from .training_runs import training_explorer as training_explorer
