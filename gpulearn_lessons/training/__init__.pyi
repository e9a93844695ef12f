from .classification import confusion as confusion
from .classification import confusion_matrix as confusion_matrix
from .training_runs import compare_runs as compare_runs
from .training_runs import runs_table as runs_table
from .training_runs import training_board as training_board
from .training_runs import training_explorer as training_explorer
