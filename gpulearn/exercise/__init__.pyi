from ..checker.answers import Answers as Answers
from ..checker.budgets import Budget as Budget
from ..checker.exercise import Case as Case
from ..checker.exercise import Exercise as Exercise
from ..checker.kernel_exercise import kernel_exercise as kernel_exercise
from ..checker.launches import Launch as Launch
from ..kernels.specification import Specification as Specification
