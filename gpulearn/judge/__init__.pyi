from ..kernels.specification import Specification as Specification
from .budgets import Budget as Budget
from .exercise import Case as Case
from .exercise import Exercise as Exercise
from .kernel_exercise import kernel_exercise as kernel_exercise
from .launches import Launch as Launch
