from .digits import Digits as Digits
from .measurements import spring as spring
